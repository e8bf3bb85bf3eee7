"""What is made up where nobody gave it: integers, arrays, callables, models, and the calls that are built of them."""
