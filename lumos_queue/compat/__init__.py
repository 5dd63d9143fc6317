"""Files of the original LUMOS: raw annotations, and the training files made from them, read with all their quirks."""
