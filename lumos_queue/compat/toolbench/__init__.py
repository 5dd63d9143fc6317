"""Read and write ToolBench's answer files: the search trees and the chains that its agents recorded."""
