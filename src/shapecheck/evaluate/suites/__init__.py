"""The user's own tests, collected by pytest and evaluated abstractly."""
