"""The worker processes, as the parent sees them: started, asked, limited, replaced, and their results kept."""
