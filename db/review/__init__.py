"""What people write: labels, audits, approvals, corrections and scorings."""
