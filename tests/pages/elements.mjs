/** As much of a document as elements made of texts need: their names, attributes and children. */

class Made {
  constructor(name) {
    Object.assign(this, { name, attributes: {}, children: [] });
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  append(...children) {
    this.children.push(...children);
  }
  get textContent() {
    return this.children.map((one) => one.textContent ?? one).join("");
  }
}

globalThis.document = { createElement: (name) => new Made(name) };
