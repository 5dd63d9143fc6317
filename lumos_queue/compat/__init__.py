"""Read and write files of the original LUMOS with all their quirks: raw annotations, and training files from them."""
