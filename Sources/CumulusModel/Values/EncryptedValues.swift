// The fields of a record that only clients can read: they are sealed before they leave a client,
// and opened by one that has the key.
//
// Part of the client's surface. The client's keyring seals and opens them.

/// A value as a client sealed it.
package struct SealedValue: Hashable, Sendable {
    /// The kind of the value, or of the elements of a list; nil means a list without elements.
    package var kind: FieldKind?
    package var isList: Bool
    package var bytes: Bytes

    package init(kind: FieldKind?, isList: Bool, bytes: Bytes) {
        self.kind = kind
        self.isList = isList
        self.bytes = bytes
    }
}

extension Record {
    /// The fields of a record that the server can't read.
    ///
    /// Encrypted fields share one set of names with the other fields, and the first save of a field
    /// decides whether it is encrypted. Strings, numbers, dates, bytes, locations and lists of them
    /// can be encrypted, in private and shared databases.
    public struct EncryptedValues: Hashable, Sendable {
        package enum Value: Hashable, Sendable {
            case open(FieldValue)
            case sealed(SealedValue)
        }

        package private(set) var values: [String: Value] = [:]
        package private(set) var changed: Set<String> = []

        /// The value of a field; nil if the field has no value, or the client has no key for it.
        ///
        /// Setting nil removes the field with the next save.
        public subscript(key: String) -> FieldValue? {
            get { if case .open(let value) = values[key] { value } else { nil } }
            set { set(newValue.map { .open($0) }, for: key) }
        }

        /// Names of the fields that can be read, sorted.
        public func allKeys() -> [String] {
            values.keys.filter { self[$0] != nil }.sorted()
        }

        /// Names of the fields that the client has no key for, sorted.
        ///
        /// These fields stay as they are on the server unless they are set.
        public func lockedKeys() -> [String] {
            values.keys.filter { self[$0] == nil }.sorted()
        }

        package mutating func set(_ value: Value?, for key: String) {
            values[key] = value
            changed.insert(key)
        }

        /// Sets a value that came from the server or was only sealed or opened: it is not a change.
        package mutating func receive(_ value: Value?, for key: String) {
            values[key] = value
        }

        /// Takes over other values, perhaps of another record; fields that differ count as changed.
        ///
        /// A sealed value can be opened only as a field of its own record. It is not taken over
        /// unless it was set.
        mutating func take(_ other: EncryptedValues) {
            changed.formUnion(other.changed)
            for key in Set(values.keys).union(other.values.keys)
            where values[key] != other.values[key] {
                if case .sealed? = other.values[key], !other.changed.contains(key) { continue }
                values[key] = other.values[key]
                changed.insert(key)
            }
        }

        mutating func markSaved() {
            changed = []
        }

        mutating func forget(_ key: String) {
            guard !values.isEmpty || !changed.isEmpty else { return }
            values[key] = nil
            changed.remove(key)
        }

        /// Whether both hold the same values.
        public static func == (left: EncryptedValues, right: EncryptedValues) -> Bool {
            left.values == right.values
        }

        /// Feeds the values.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(values)
        }
    }
}
