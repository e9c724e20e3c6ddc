/// A part of the script of ``PageScripts``: it writes the present state of a page as HTML that needs no scripts.
enum PageFreeze {
    /// Sets `frozen` to the document with its shadow roots, its style rules, the values of its form fields, and
    /// its canvases as images; null if it is too long, or cannot be written. Scripts, event handlers, `noscript`,
    /// frames with a document in an attribute, and refreshes are left out.
    static let script = """

        const removeHandlers = (e) => {
          for (const { name } of [...e.attributes]) if (/^on/i.test(name)) e.removeAttribute(name);
        };
        const cssText = (sheet) => {
          try { return [...sheet.cssRules].map((rule) => rule.cssText).join('\\n').replace(/<\\/(style)/gi, '<\\\\/$1'); } catch { return ''; }
        };
        const styleElement = (sheet) => {
          const element = Document.prototype.createElement.call(document, 'style');
          element.textContent = cssText(sheet);
          return element;
        };
        const imageOfCanvas = (canvas) => {
          const image = Document.prototype.createElement.call(document, 'img');
          for (const { name, value } of canvas.attributes) image.setAttribute(name, value);
          removeHandlers(image);
          try { image.src = canvas.toDataURL(); } catch { return null; }
          const box = canvas.getBoundingClientRect();
          image.style.width = `${box.width}px`;
          image.style.height = `${box.height}px`;
          return image;
        };
        const dataOfImage = (image) => {
          const canvas = Document.prototype.createElement.call(document, 'canvas');
          [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
          try { canvas.getContext('2d').drawImage(image, 0, 0); return canvas.toDataURL(); } catch { return ''; }
        };
        // Copies the state that the clone of an element lacks. Both trees have the same elements in the same order.
        const copyStateAndClean = (live, clone) => {
          const originals = [...live.querySelectorAll('*')], copies = [...clone.querySelectorAll('*')];
          originals.forEach((e, place) => {
            const copy = copies[place];
            if (!copy) return;
            const tag = e.localName;
            removeHandlers(copy);
            if (tag === 'style' && e.sheet) copy.textContent = cssText(e.sheet) || e.textContent;
            if (tag === 'input' && e.type !== 'password' && e.type !== 'file') {
              copy.setAttribute('value', e.value);
              copy.toggleAttribute('checked', e.checked);
            }
            if (tag === 'textarea') copy.textContent = e.value;
            if (tag === 'option') copy.toggleAttribute('selected', e.selected);
            if (tag === 'img' && e.src.startsWith('blob:')) copy.src = dataOfImage(e);
            if (e.shadowRoot) {
              const template = Document.prototype.createElement.call(document, 'template');
              template.setAttribute('shadowrootmode', 'open');
              const inner = Document.prototype.createDocumentFragment.call(document);
              for (const child of e.shadowRoot.childNodes) inner.append(child.cloneNode(true));
              copyStateAndClean(e.shadowRoot, inner);
              // Adopted style sheets come after those of the tree.
              for (const sheet of e.shadowRoot.adoptedStyleSheets) inner.append(styleElement(sheet));
              template.content.append(inner);
              copy.prepend(template);
            }
            if (tag === 'canvas') {
              const image = imageOfCanvas(e);
              if (image) copy.replaceWith(image);
            }
          });
          const unwanted = 'script, link[rel="modulepreload"], link[rel="preload"], link[rel="prefetch"],'
            + 'meta[http-equiv="refresh" i], meta[http-equiv="content-security-policy" i]';
          for (const e of clone.querySelectorAll(unwanted)) e.remove();
          for (const e of clone.querySelectorAll('iframe[srcdoc], noscript')) e.remove();
          for (const e of clone.querySelectorAll('[href], [src], [action], [formaction]')) {
            for (const { name, value } of [...e.attributes]) {
              if (/^[\\s\\x00-\\x1f]*javascript:/i.test(value)) e.removeAttribute(name);
            }
          }
        };
        const freeze = () => {
          const root = own('documentElement'), clone = root.cloneNode(true);
          copyStateAndClean(root, clone);
          removeHandlers(clone);
          const head = clone.querySelector('head') || clone;
          for (const sheet of own('adoptedStyleSheets') || []) head.append(styleElement(sheet));
          // If a script has changed the address, relative URLs need a base.
          const loadedURL = performance.getEntriesByType('navigation')[0]?.name;
          if (loadedURL && loadedURL.split('#')[0] !== location.href.split('#')[0] && !clone.querySelector('base')) {
            const base = Document.prototype.createElement.call(document, 'base');
            base.href = document.baseURI;
            head.prepend(base);
          }
          if (!clone.querySelector('meta[charset]')) {
            const meta = Document.prototype.createElement.call(document, 'meta');
            meta.setAttribute('charset', 'utf-8');
            head.prepend(meta);
          }
          const text = '<!DOCTYPE html>' + clone.outerHTML;
          return text.length <= \(PageOutcome.maxFrozenLength) ? text : null;
        };
        let frozen = null;
        try { frozen = freeze(); } catch {}
        """
}
