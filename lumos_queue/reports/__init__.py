"""Reports on jobs and audits: figures, intervals and lists, computed from stored rows."""
