"""Files of the original LUMOS: raw annotations, and the training files made from them. Read with all their quirks."""
