"""The program, in JavaScript, that makes the objects of a script from a record's JSON, and calls the script with them."""

from __future__ import annotations

from typing import Final

MARK: Final = "\0"
"""The only member of an object in a record's JSON that stands for a value which JSON does not have: ``[kind, content]``."""

PROGRAM: Final = """
(script) => {
  // What keeps memory outside of V8's heap, which no limit counts, and what calls functions later.
  const unbounded = /.Array$|ArrayBuffer$|^(DataView|WebAssembly|Atomics|FinalizationRegistry|setTimeout|clearTimeout)$/;
  for (const name of Object.getOwnPropertyNames(globalThis)) if (unbounded.test(name)) globalThis[name] = undefined;

  class RecordChange extends Error {}
  const refuse = () => { throw new RecordChange() };
  const unchangeable = { set: refuse, defineProperty: refuse, deleteProperty: refuse, setPrototypeOf: refuse, preventExtensions: refuse };

  const add = (prototype, methods) => {
    for (const [name, value] of Object.entries(methods)) {
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
    }
  };
  const define = (to, name, value) => Object.defineProperty(to, name, { value, enumerable: true, writable: true, configurable: true });
  class JavaMap {
    #entries;
    constructor(entries) {
      this.#entries = new Map(entries);
      // Entries are properties too, unless a method has their name.
      for (const [name, value] of entries) if (!(name in JavaMap.prototype)) define(this, name, value);
    }
    get(key) { return this.#entries.get(String(key)) ?? null }
    getOrDefault(key, otherwise) { return this.containsKey(key) ? this.get(key) : otherwise }
    containsKey(key) { return this.#entries.has(String(key)) }
    containsValue(value) { return this.values().includes(value) }
    size() { return this.#entries.size }
    isEmpty() { return this.#entries.size === 0 }
    keySet() { return [...this.#entries.keys()] }
    values() { return [...this.#entries.values()] }
    entrySet() { return [...this.#entries].map(([key, value]) => ({ getKey: () => key, getValue: () => value })) }
    forEach(call) { for (const [key, value] of this.#entries) call(key, value) }
    toString() { return '{' + [...this.#entries].map(([key, value]) => key + '=' + value).join(', ') + '}' }
  }
  add(Array.prototype, {
    get(index) {
      if (!(index >= 0 && index < this.length)) throw new RangeError();
      return this[index];
    },
    size() { return this.length },
    isEmpty() { return this.length === 0 },
    contains(value) { return this.includes(value) },
    containsAll(values) { return Array.from(values).every((value) => this.includes(value)) },
  });
  add(Date.prototype, {
    before(other) { return this.getTime() < other.getTime() },
    after(other) { return this.getTime() > other.getTime() },
    compareTo(other) { return Math.sign(this.getTime() - other.getTime()) },
    equals(other) { return other instanceof Date && this.getTime() === other.getTime() },
  });
  add(Number.prototype, {
    intValue() { return Math.trunc(this.valueOf()) },
    longValue() { return Math.trunc(this.valueOf()) },
    doubleValue() { return this.valueOf() },
    floatValue() { return this.valueOf() },
    signum() { return Math.sign(this.valueOf()) },
    compareTo(other) { return Math.sign(this.valueOf() - other) },
  });

  const marked = {
    map: (entries) => new JavaMap(entries),
    date: (time) => new Date(time),
    number: (text) => Number(text),
    bytes: (text) => Array.from(text, (each) => each.charCodeAt(0)),
    object: (entries) => {
      const made = {};
      for (const [name, value] of entries) define(made, name, value);
      return new Proxy(made, unchangeable);
    },
  };
  // An array takes many times the memory of its bytes, and few scripts look at them.
  const later = (to, name, held) => {
    let made;
    Object.defineProperty(to, name, { get: () => made ??= read(held), enumerable: true, configurable: true });
  };
  const read = (value) => {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) {
      // Not by names, of which a long list has too many.
      for (let index = 0; index < value.length; index++) {
        if (typeof value[index] === 'object') value[index] = read(value[index]);
      }
      return value;
    }
    for (const name of Object.keys(value)) {
      const held = value[name];
      if (held === null || typeof held !== 'object') continue;
      if (held['\\u0000']?.[0] === 'bytes') later(value, name, held); else value[name] = read(held);
    }
    const mark = value['\\u0000'];
    return mark === undefined ? new Proxy(value, unchangeable) : marked[mark[0]](mark[1]);
  };

  class SchemaType {
    constructor(name) { this.toString = this.name = () => name }
    getName() { return this.name().toLowerCase() }
    isPrimitive() { return !['ARRAY', 'MAP', 'STRUCT'].includes(this.name()) }
  }
  const types = new Map();
  class Field {
    constructor(name, index, schema) { this.name = () => name; this.index = () => index; this.schema = () => schema }
  }
  class Schema {
    constructor(made) {
      const type = types.get(made.type) ?? new SchemaType(made.type);
      types.set(made.type, type);
      const parameters = made.parameters === null ? null : new JavaMap(made.parameters);
      const fields = made.fields === null ? null : made.fields.map(([name, schema], index) => new Field(name, index, schemaOf(schema)));
      const [items, keys, values] = [made.items, made.keys, made.values].map(schemaOf);
      const preset = read(made.default);
      const of = (known, kind) => () => {
        if (known === null) throw new TypeError('A schema of another type has no ' + kind);
        return known;
      };
      Object.assign(this, {
        type: () => type, isOptional: () => made.optional, defaultValue: () => preset, name: () => made.name, version: () => made.version,
        doc: () => made.doc, parameters: () => parameters, schema: () => this,
        fields: of(fields, 'fields'), keySchema: of(keys, 'keys'), valueSchema: of(values ?? items, 'values'),
        field: (name) => of(fields, 'fields')().find((each) => each.name() === name) ?? null,
      });
      Object.freeze(this);
    }
  }
  const schemaOf = (made) => made === null ? null : new Schema(made);
  let schemas = new Map();
  const schemaAt = (number) => number === null ? null : schemas.get(number);

  const errors = [RecordChange, TypeError, ReferenceError, RangeError, SyntaxError, URIError, EvalError, Error];
  return (text) => {
    try {
      const record = JSON.parse(text);
      if (record.forget) schemas = new Map();
      for (const [number, made] of record.schemas) schemas.set(number, new Schema(made));
      const headers = {};
      for (const [name, value, schema] of record.headers) define(headers, name, { value: read(value), schema: schemaAt(schema) });
      const found = script(read(record.key), read(record.value), schemaAt(record.keySchema), schemaAt(record.valueSchema), record.topic,
        new Proxy(headers, unchangeable));
      const kind = found === null || found === undefined ? 'null' : typeof found;
      return JSON.stringify([kind, kind === 'boolean' || kind === 'string' ? found : null]);
    } catch (problem) {
      const kind = errors.find((each) => problem instanceof each);
      return JSON.stringify(['error', kind === undefined ? typeof problem : kind.name]);
    }
  };
}
"""
"""Evaluates to a function that takes the script, as a function of the variables, and returns a function of a record's JSON.

That one returns JSON: the kind and the value of the script's result, or ``error`` and the class of what it threw.
"""
