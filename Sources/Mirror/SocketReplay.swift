internal import Web

/// The script element that replays the live messages of a page (`SocketRecording`) to it.
///
/// The script replaces `WebSocket` and `EventSource` for the recorded URLs; other URLs are refused as everywhere in the
/// mirror. The messages are in the document itself, so that only a page that can read the document can read them.
enum SocketReplay {
    /// - Parameters:
    ///   - messages: the recording as JSON.
    ///   - page: the URL of the page.
    static func element(_ messages: [UInt8], of page: WebURL) -> [UInt8] {
        var host = JSONWriter(.compact)
        host.string(page.origin.split(separator: "/").last.map(String.init) ?? "")
        return Array("<script>(\(script))(".utf8) + inScript(host.bytes) + [0x2C] + inScript(messages)
            + Array(")</script>".utf8)
    }

    /// Escapes JSON for a script element in a document of any encoding: `<` could end the element, and other characters
    /// than those of ASCII are read by the encoding of the document. Both occur only in the strings of JSON.
    static func inScript(_ json: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(json.count)
        for unit in String(decoding: json, as: UTF8.self).utf16 {
            if unit < 0x80, unit != UInt16(ascii: "<") {
                escaped.append(UInt8(unit))
            } else {
                let digits = String(unit, radix: 16)
                escaped += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            }
        }
        return escaped
    }

    /// A function of the page's host online and the recording.
    ///
    /// A connection gets the messages of the recorded one whose URL is most alike: equal, or with another query, or with
    /// another path of the same form, as in the random paths of SockJS. Each is used once. It opens when the document is
    /// parsed, since online the network delays it.
    ///
    /// Messages of the client are counted and not interpreted. Only identifiers (words of at least 8 letters, digits, `-`
    /// and `_`) that differ from those of the recorded message are replaced in later messages of the server, which may
    /// refer to them.
    private static let script = #"""
        (pageHost, { connections }) => {
          document.currentScript.remove();
          const unused = [...connections];
          const tasks = [];
          const channel = new MessageChannel();
          channel.port1.onmessage = () => tasks.shift()();
          const later = (task) => { tasks.push(task); channel.port2.postMessage(0); };
          const whenParsed = (task) => document.readyState === "loading"
            ? document.addEventListener("DOMContentLoaded", () => later(task), { once: true }) : later(task);

          const likeness = (one, kind, url) => {
            const known = new URL(one.url);
            const isMirrored = url.host !== location.host && url.hostname.endsWith(".localhost");
            const isSameHost = url.host === location.host ? known.host === pageHost : known.host === url.host || isMirrored;
            if (one.kind !== kind || !isSameHost) return 0;
            if (known.pathname === url.pathname) return known.search === url.search ? 3 : 2;
            const [then, now] = [known.pathname.split("/"), url.pathname.split("/")];
            return then.length > 2 && then.length === now.length && then.at(-1) === now.at(-1) ? 1 : 0;
          };
          const take = (kind, address) => {
            let url;
            try { url = new URL(address, document.baseURI); } catch { return null; }
            const most = Math.max(0, ...unused.map((one) => likeness(one, kind, url)));
            if (!most) return null;
            const [connection] = unused.splice(unused.findIndex((one) => likeness(one, kind, url) === most), 1);
            url.protocol = url.protocol.replace("http", kind === "socket" ? "ws" : "http");
            return { connection, url };
          };

          const word = /[\w-]{8,}/g;
          const textOf = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
          const bytesOf = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
          const identifiers = () => {
            const renamed = new Map();
            return {
              compare(then, now) {
                const [old, present] = [then.match(word) ?? [], now.match(word) ?? []];
                if (old.length !== present.length) return;
                old.forEach((name, n) => { if (name !== present[n] && renamed.size < 100) renamed.set(name, present[n]); });
              },
              inText: (text) => renamed.size ? text.replace(word, (name) => renamed.get(name) ?? name) : text,
              // The lengths in a binary message must stay right.
              inBytes(text) {
                for (const [old, present] of renamed)
                  if (old.length === present.length) text = text.replaceAll(old, present);
                return text;
              },
            };
          };

          // The properties are the object's own, since those of the prototype work only for real connections.
          const make = (target, names, values, methods) => {
            const connection = Reflect.construct(EventTarget, [], target);
            for (const [name, get] of Object.entries(values))
              Object.defineProperty(connection, name, { get, configurable: true, enumerable: true });
            for (const [name, value] of Object.entries(methods))
              Object.defineProperty(connection, name, { value, configurable: true, writable: true });
            for (const name of names) {
              let handler = null;
              connection.addEventListener(name, (event) => handler?.call(connection, event));
              Object.defineProperty(connection, "on" + name, {
                get: () => handler, set: (value) => { handler = typeof value === "function" ? value : null; },
                configurable: true, enumerable: true,
              });
            }
            return connection;
          };

          const openSocket = (target, url, { protocol, turns, hasEnded }) => {
            let [state, turn, kind] = [0, 0, "blob"];
            const names = identifiers();
            const end = (code, reason) => {
              if (state === 3) return;
              state = 3;
              socket.dispatchEvent(new CloseEvent("close", { wasClean: true, code, reason }));
            };
            const receive = ({ text, bytes }) => later(() => {
              if (state !== 1) return;
              let data = text === undefined ? bytesOf(names.inBytes(atob(bytes))) : names.inText(text);
              if (text === undefined) data = kind === "blob" ? new Blob([data]) : data.buffer;
              socket.dispatchEvent(new MessageEvent("message", { data, origin: url.origin }));
            });
            const reach = (number) => {
              turns[number]?.received.forEach(receive);
              if (hasEnded && number === turns.length - 1) later(() => end(1005, ""));
            };
            const socket = make(target, ["open", "message", "error", "close"], {
              url: () => url.href, readyState: () => state, bufferedAmount: () => 0, extensions: () => "",
              protocol: () => (state ? protocol : ""),
            }, {
              send(data) {
                if (state === 0) throw new DOMException("Still in CONNECTING state.", "InvalidStateError");
                if (state !== 1) return;
                const then = turns[++turn]?.sent;
                const bytes = data instanceof ArrayBuffer ? new Uint8Array(data)
                  : ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : null;
                if (then?.text !== undefined && !bytes) names.compare(then.text, String(data));
                if (then?.bytes !== undefined && bytes) names.compare(atob(then.bytes), textOf(bytes));
                reach(turn);
              },
              close(code = 1005, reason = "") {
                if (state > 1) return;
                state = 2;
                later(() => end(code, reason));
              },
            });
            Object.defineProperty(socket, "binaryType", {
              get: () => kind, set: (value) => { if (value === "blob" || value === "arraybuffer") kind = value; },
              configurable: true, enumerable: true,
            });
            whenParsed(() => {
              if (state) return;
              state = 1;
              reach(0);
              socket.dispatchEvent(new Event("open"));
            });
            return socket;
          };

          const openStream = (target, url, { turns }, options) => {
            let state = 0;
            const stream = make(target, ["open", "message", "error"], {
              url: () => url.href, readyState: () => state, withCredentials: () => Boolean(options?.withCredentials),
            }, { close() { state = 2; } });
            whenParsed(() => {
              if (state) return;
              state = 1;
              for (const { name, id, data } of turns[0].received)
                later(() => {
                  if (state !== 1) return;
                  stream.dispatchEvent(new MessageEvent(name || "message", { data, lastEventId: id, origin: url.origin }));
                });
              stream.dispatchEvent(new Event("open"));
            });
            return stream;
          };

          for (const [name, kind, open] of [["WebSocket", "socket", openSocket], ["EventSource", "events", openStream]])
            self[name] = new Proxy(self[name], {
              construct(target, args, newTarget) {
                const found = args.length ? take(kind, args[0]) : null;
                return found ? open(newTarget, found.url, found.connection, args[1]) : Reflect.construct(target, args, newTarget);
              },
            });
        }
        """#
}

extension UInt16 {
    fileprivate init(ascii scalar: Unicode.Scalar) { self = UInt16(UInt8(ascii: scalar)) }
}
