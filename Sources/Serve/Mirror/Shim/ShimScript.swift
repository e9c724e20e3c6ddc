/// The script that leads to the larder what other scripts ask for by whole addresses which they make at run time.
///
/// `larderAddress` stands before it: it gives the larder's address of an http or https URL, and the URL itself where that
/// is the larder's already.
enum ShimScript {
    static let text = #"""
        // Larder leads to itself what this page's scripts ask for by whole addresses: they were made for the network, which
        // is not asked here. Everything else is as it was.
        (() => {
          "use strict";

          // The larder's address of a reference that names an origin; any other reference as it is.
          const led = (reference) => {
            const text = String(reference);
            if (!/^[\0-\x20]*(?:https?:)?[\/\\]{2}/i.test(text)) return reference;
            try {
              return larderAddress(new URL(text, document.baseURI));
            } catch {
              return reference;
            }
          };
          const ledSet = (set) =>
            String(set).replace(/(^|,)(\s*)((?:https?:)?\/\/[^\s,]+)/gi, (_, comma, space, url) => comma + space + led(url));

          // The same for what stands in a style.
          const ledStyle = (css) =>
            String(css).replace(/(url\(\s*["']?|@import\s+["'])((?:https?:)?\/\/[^"'()\s]+)/gi, (_, start, url) => start + led(url));

          // Has a function get its arguments as `change` makes them.
          const wrap = (object, name, change) => {
            const original = object?.[name];
            if (!original) return;
            object[name] = new Proxy(original, {
              apply: (target, self, args) => Reflect.apply(target, self, change(args)),
              construct: (target, args, newTarget) =>
                Reflect.construct(target, change(args), newTarget === object[name] ? target : newTarget),
            });
          };
          const first = (args) => (args.length ? [led(args[0]), ...args.slice(1)] : args);

          wrap(self, "fetch", (args) => {
            const [request, options] = args;
            if (!(request instanceof Request)) return first(args);
            const url = led(request.url);
            return url === request.url ? args : [new Request(url, request), options];
          });
          wrap(XMLHttpRequest.prototype, "open", ([method, url, ...rest]) => [method, led(url), ...rest]);
          for (const name of ["Worker", "SharedWorker"]) wrap(self, name, first);
          wrap(self.ServiceWorkerContainer?.prototype, "register", first);
          wrap(self, "open", first);
          for (const name of ["pushState", "replaceState"])
            wrap(History.prototype, name, ([state, title, url]) => [state, title, url == null ? url : led(url)]);
          // Nobody is there to be told.
          Navigator.prototype.sendBeacon = () => true;

          // Where elements have addresses.
          const places = {
            HTMLImageElement: ["src", "srcset"], HTMLScriptElement: ["src"], HTMLLinkElement: ["href", "imageSrcset"],
            HTMLIFrameElement: ["src"], HTMLMediaElement: ["src"], HTMLVideoElement: ["poster"], HTMLTrackElement: ["src"],
            HTMLSourceElement: ["src", "srcset"], HTMLEmbedElement: ["src"], HTMLObjectElement: ["data"],
            HTMLInputElement: ["src", "formAction"], HTMLButtonElement: ["formAction"], HTMLAnchorElement: ["href"],
            HTMLAreaElement: ["href"], HTMLFormElement: ["action"],
          };
          const attributes = new Set(["xlink:href", "style"]);
          const change = (name, value) =>
            name === "style" ? ledStyle(value) : /srcset$/i.test(name) ? ledSet(value) : led(value);
          for (const [type, names] of Object.entries(places)) {
            const prototype = self[type]?.prototype;
            for (const name of names) {
              attributes.add(name.toLowerCase());
              const property = prototype && Object.getOwnPropertyDescriptor(prototype, name);
              if (!property?.set) continue;
              const set = property.set;
              property.set = function (value) { set.call(this, change(name, value)); };
              Object.defineProperty(prototype, name, property);
            }
          }
          const changed = (name, value) => (attributes.has(String(name).toLowerCase()) ? change(name, value) : value);
          wrap(Element.prototype, "setAttribute", ([name, value]) => [name, changed(name, value)]);
          wrap(Element.prototype, "setAttributeNS", ([space, name, value]) => [space, name, changed(name, value)]);

          // Where styles have them.
          wrap(CSSStyleDeclaration.prototype, "setProperty", ([name, value, ...rest]) =>
            [name, value == null ? value : ledStyle(value), ...rest]);
          for (const name of ["insertRule", "replace", "replaceSync"])
            wrap(CSSStyleSheet.prototype, name, ([text, ...rest]) => [ledStyle(text), ...rest]);

          // A digest that a script knows is that of the body as it was, before its links were led here.
          for (const type of ["HTMLScriptElement", "HTMLLinkElement"])
            Object.defineProperty(self[type].prototype, "integrity", { get: () => "", set: () => {}, configurable: true });

          // What was written as markup has failed once, by the page's policy, and is asked for again.
          const selector = "[src^=http],[src^='//'],[srcset*='//'],[href^=http],[href^='//'],[poster*='//'],[data*='//'],[style*='//'],style";
          const mend = (element) => {
            if (element instanceof HTMLStyleElement) {
              const right = ledStyle(element.textContent);
              if (right !== element.textContent) element.textContent = right;
            }
            for (const { name, value } of [...element.attributes]) {
              const right = changed(name, value);
              if (right !== value) element.setAttribute(name, right);
            }
          };
          new MutationObserver((records) => {
            for (const { addedNodes, type, target } of records) {
              // The properties of a style cannot be wrapped in every browser.
              if (type === "attributes" && target.getAttribute("style")?.includes("//")) mend(target);
              for (const node of addedNodes) {
                if (!(node instanceof Element)) continue;
                if (node.matches(selector)) mend(node);
                if (node.firstElementChild) node.querySelectorAll(selector).forEach(mend);
              }
            }
          }).observe(document, { childList: true, subtree: true, attributeFilter: ["style"] });

          // Where a script sends the whole page.
          self.navigation?.addEventListener("navigate", (event) => {
            const url = led(event.destination.url);
            if (url === event.destination.url || !event.cancelable) return;
            event.preventDefault();
            location.href = url;
          });
        })();
        """#
}
