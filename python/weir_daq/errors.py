"""Exceptions of weir_daq. Each text names the fault, its place and the remedy."""


class WeirError(Exception):
    """Base of every exception that weir_daq raises on purpose."""


class FormatError(WeirError, ValueError):
    """Bytes that break libs/records/storage/FORMAT.md."""


class NoRunError(WeirError, FileNotFoundError):
    """The folder has no such run."""


class NoSliceError(WeirError, KeyError):
    """The run has no such slice."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingPackageError(WeirError, ImportError):
    """An optional package is not installed; the text has the command that installs it."""


class ConvertError(WeirError, RuntimeError):
    """A conversion cannot begin or did not finish. Nothing was published."""


class TapError(WeirError, RuntimeError):
    """Run control does not answer a tap, or refuses it."""


class ControlError(WeirError, RuntimeError):
    """Run control does not answer a command, or refuses it."""


class NoAnswerError(ControlError):
    """Run control does not answer: it is not running, is being restarted, or has other keys."""
