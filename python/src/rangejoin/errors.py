"""The one error this package raises on its own account."""


class RangeJoinError(RuntimeError):
    """The range join cannot be used as asked; the message says what to do."""
