"""What the driver programs of the Python clients share: one operation per process.

The operation comes as JSON in the only argument; what happens is printed as one JSON object per line: `assigned`,
`record`, and at the end `result` or `error`. A member runs until standard input ends, and then leaves; a producer sends
the lines of its standard input. It is `../driver-io.mjs` in another language.
"""
import json
import os
import sys
import threading

_printing = threading.Lock()


def emit(event, **fields):
    """Prints one event; a client may call from a thread of its own."""
    with _printing:
        sys.stdout.write(json.dumps({'event': event, **fields}) + '\n')
        sys.stdout.flush()


def text(data):
    return None if data is None else data.decode('utf-8')


def data(value):
    return None if value is None else value.encode('utf-8')


def asked_to_leave():
    """An event that is set once the run asks this member to leave."""
    leaving = threading.Event()

    def wait():
        sys.stdin.read()
        leaving.set()

    threading.Thread(target=wait, daemon=True).start()
    return leaving


def lines_to_send():
    """What a producer that stays has to send."""
    for line in iter(sys.stdin.readline, ''):
        yield line.rstrip('\n')


def main(operations, run=lambda operation, options: operation(options)):
    """Runs the operation that the argument names, and ends the process."""
    options = json.loads(sys.argv[1])
    operation = operations[options.pop('operation')]
    try:
        emit('result', value=run(operation, options))
        status = 0
    except Exception as error:
        emit('error', message='%s: %s' % (type(error).__name__, error))
        status = 1
    # A client may leave threads behind that would keep the process alive; the operation is over.
    sys.stdout.flush()
    os._exit(status)
