"""ToolBench's files of answers: the trees and chains that its agents recorded."""
