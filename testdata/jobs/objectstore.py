"""An object store on the loopback interface: any GET answers with bytes after a fixed delay.

    python3 objectstore.py SECONDS BYTES     prints its port, serves until its standard input is closed
"""

import http.server
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one segment: else Nagle's algorithm and delayed ACKs add 40 ms
    delay, body = 0.0, b""

    def do_GET(self):
        time.sleep(self.delay)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *args):
        pass


def main():
    Handler.delay, Handler.body = float(sys.argv[1]), bytes(int(sys.argv[2]))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
