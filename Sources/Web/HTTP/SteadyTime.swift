/// A reproducible clock and reproducible random numbers for the scripts of a page.
///
/// Some scripts put the time or a random number into the URLs that they request, for example `/data?t=1764000000`.
/// Such a URL is stored when the page is rendered, but another one is requested when the page is displayed later. A
/// page that does this is marked as *steady*: whenever it is rendered or displayed, its clock starts at the same time
/// and its random numbers are the same, so that its scripts request the same URLs.
///
/// The start time is stored in a header field of the page. The field is not sent to clients.
package enum SteadyTime {
    package static let fieldName = "Larder-Steady"

    /// The start time of a steady page in seconds since 1970, from its stored header fields; nil if the page is not
    /// steady.
    package static func since(_ fields: HTTPFields) -> Int? {
        fields[fieldName].flatMap { Int($0) }.flatMap { (0...9_999_999_999).contains($0) ? $0 : nil }
    }

    /// A JavaScript function that takes this time and replaces `Date`, `Math.random` and `crypto`. The clock
    /// advances in whole seconds, so that a script that waits for it to change waits at most one second. The
    /// random numbers are the same sequence in each document and worker.
    package static let script = #"""
        (function larderSteady(since) {
          "use strict";
          const mark = Symbol.for("larder steady");
          if (self[mark]) return;
          Object.defineProperty(self, mark, { value: true });
          const RealDate = Date;
          const begun = performance.now();
          const now = () => (since + Math.floor((performance.now() - begun) / 1000)) * 1000;
          const SteadyDate = function Date(...parts) {
            if (!new.target) return new RealDate(now()).toString();
            return Reflect.construct(RealDate, parts.length ? parts : [now()], new.target);
          };
          Object.setPrototypeOf(SteadyDate, RealDate);
          SteadyDate.prototype = RealDate.prototype;
          Object.defineProperty(SteadyDate, "length", { value: 7 });
          Object.defineProperty(SteadyDate.prototype, "constructor",
            { value: SteadyDate, writable: true, configurable: true });
          const put = (target, name, value) =>
            Object.defineProperty(target, name, { value, writable: true, configurable: true });
          put(SteadyDate, "now", now);
          put(self, "Date", SteadyDate);
          // Mulberry32.
          let state = 0x6d2b79f5;
          const next = () => {
            state = (state + 0x6d2b79f5) | 0;
            let t = Math.imul(state ^ (state >>> 15), 1 | state);
            t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
            return (t ^ (t >>> 14)) >>> 0;
          };
          put(Math, "random", () => next() / 4294967296);
          const crypto = self.crypto;
          if (!crypto) return;
          put(crypto, "getRandomValues", (array) => {
            const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
            for (let place = 0; place < bytes.length; place++) bytes[place] = next();
            return array;
          });
          put(crypto, "randomUUID", () => {
            const bytes = crypto.getRandomValues(new Uint8Array(16));
            bytes[6] = (bytes[6] & 15) | 64;
            bytes[8] = (bytes[8] & 63) | 128;
            const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
            return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
          });
        })
        """#

    /// The script with its argument, to run before the scripts of a document or worker.
    package static func call(since: Int) -> String { "\(script)(\(since));" }
}
