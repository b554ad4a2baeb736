"""What people type: one parser tree, one module a command."""
