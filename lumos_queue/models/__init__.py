"""Model folders: bases that are downloaded, their tokenizers, adapters merged into them, and a server for one."""
