"""What is shown to a model or an agent: selecting it, and rendering it as quoted data."""
