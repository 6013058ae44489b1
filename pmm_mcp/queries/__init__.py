"""What can be asked of the read tables: one module a read model, each question a value."""
