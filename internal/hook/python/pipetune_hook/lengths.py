"""The length of a dataset, found without asking it: a __len__ is the job's code, and may print, or count the lines of a
file.

Of Python's, numpy's and torch's own classes it is known where they keep it. Of another class the instructions of its
__len__ are read, and what they say is worked out where that takes no call but len() of such: `return len(self.files) *
2` of a list of files."""

import sys
from types import FunctionType

from .alarm import foreign
from .batch import Tensor, array, modes, tracing
from .look import field, of_class, one_of

DEEPEST = 8  # datasets within one another
LONGEST = 24  # instructions read
HELD = (list, tuple, dict, range, str, bytes, set, frozenset)
PLAIN = HELD + (int, type(None))
CONSTANTS = (int, str, bytes, bool, float, type(None))
ITSELF, LEN = object(), object()  # on the stack: the dataset, and the function
IDLE = {"RESUME", "CACHE", "PRECALL", "PUSH_NULL", "NOP", "TO_BOOL", "EXTENDED_ARG"}
SIGNS = {
    "*": int.__mul__,
    "+": int.__add__,
    "-": int.__sub__,
    "//": int.__floordiv__,
    "BINARY_MULTIPLY": int.__mul__,
    "BINARY_ADD": int.__add__,
    "BINARY_SUBTRACT": int.__sub__,
    "BINARY_FLOOR_DIVIDE": int.__floordiv__,
}


class Unknown(Exception):
    """The length cannot be known without a call."""


def length(dataset):
    """len(dataset); None where it is not known."""
    try:
        return long(dataset, 0)
    except Unknown:
        return None
    except (ArithmeticError, LookupError) as error:
        if foreign(error):
            raise
        return None


def long(thing, depth):
    kind = type(thing)
    if one_of(kind, HELD):
        return len(thing)
    if array(kind) and thing.ndim:
        return thing.shape[0]
    if kind is Tensor and not modes() and not tracing() and thing.dim():
        return thing.size(0)
    data = sys.modules["torch.utils.data"].dataset
    if kind is data.TensorDataset:
        return long(kept(thing, "tensors", tuple)[0], depth + 1)
    if kind is data.ConcatDataset:
        return whole(kept(thing, "cumulative_sizes", list)[-1])
    method = of_class(kind, "__len__")
    plain = of_class(kind, "__getattribute__") is object.__getattribute__
    if type(method) is not FunctionType or not plain or depth > DEEPEST:
        raise Unknown
    return whole(worked_out(method, thing, depth))


def worked_out(method, thing, depth):
    """What the instructions of a method without arguments return."""
    import dis

    code, stack = method.__code__, []
    if code.co_argcount != 1 or type(method.__globals__) is not dict or len(code.co_code) > 16 * LONGEST:
        raise Unknown
    if not all([one_of(type(each), CONSTANTS) for each in code.co_consts]):
        raise Unknown  # dis would ask it for its text
    for each in dis.get_instructions(code):
        name, value = each.opname, each.argval
        if name in IDLE:
            continue
        if name.startswith("LOAD_FAST") and value == code.co_varnames[0]:
            stack.append(ITSELF)
        elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            stack.append(value)
        elif name == "LOAD_GLOBAL" and value == "len" and "len" not in method.__globals__:
            stack.append(LEN)
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and stack and stack.pop() is ITSELF:
            stack.append(attribute(thing, value))
        elif name.startswith("CALL") and len(stack) > 1 and stack[-2] is LEN and (each.arg or 0) == 1:
            stack[-2:] = [long(stack[-1], depth + 1)]
        elif name.startswith("BINARY_") and len(stack) > 1 and sign(each) in SIGNS:
            stack[-2:] = [SIGNS[sign(each)](whole(stack[-2]), whole(stack[-1]))]
        elif name == "RETURN_VALUE" and len(stack) == 1:
            return stack[0]
        elif name == "RETURN_CONST":
            return value
        else:
            break
    raise Unknown


def sign(instruction):
    return instruction.argrepr if instruction.opname == "BINARY_OP" else instruction.opname


def attribute(thing, name):
    """An attribute of an object, where no property or other descriptor of its class comes into it."""
    shared = of_class(type(thing), name)
    if not one_of(type(shared), PLAIN):
        raise Unknown
    return field(thing, name, shared)


def kept(thing, name, kind):
    value = field(thing, name)
    if type(value) is not kind:
        raise Unknown
    return value


def whole(value):
    if type(value) is not int:
        raise Unknown
    return value
