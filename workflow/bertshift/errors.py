class UserError(Exception):
    """Something only the user can put right: one sentence with what is wrong, where, and what to
    write instead."""
