// The schema of a container's environment: record types with their fields, indexes and grants, and
// the roles.
//
// Part of the client's surface; read from and printed as the schema language. Its arrays are always
// in order, so that equal schemas are equal values.
//
// Folder: schemas, their differences, and the language in which they are written. Read `Schema`,
// then `SchemaLanguage` and `SchemaLanguage+Parser`.

/// The record types and the roles of a container's environment.
public struct Schema: Hashable, Sendable {
    /// The roles that the schema creates, sorted.
    ///
    /// The roles that every container has (`_world`, `_icloud` and `_creator`) are not among them.
    public var roles: [String] {
        didSet { roles.sort() }
    }

    /// The record types, sorted by name; names are unique.
    public var recordTypes: [RecordType] {
        didSet { recordTypes.sort { $0.name < $1.name } }
    }

    // Names are ASCII, so such strings are ordered by their bytes.
    package init(roles: [String] = [], recordTypes: [RecordType] = []) {
        self.roles = roles.sorted()
        self.recordTypes = recordTypes.sorted { $0.name < $1.name }
    }

    /// The record type of that name; nil if there is none.
    public func recordType(_ name: String) -> RecordType? {
        recordTypes.first { $0.name == name }
    }

    /// The roles that exist without being created.
    package static let implicitRoles: Set = [Grants.world, Grants.signedIn, Grants.creator]

    /// The type of share records, and how its own fields begin.
    package static let shareType = "cloudkit.share"
    package static let sharePrefix = "cloudkit."

    /// A record type: what its records hold, and which roles may do what with them.
    public struct RecordType: Hashable, Sendable {
        /// A letter, then letters, digits and underscores; or `cloudkit.share`.
        public var name: String

        /// The fields, sorted by name; names are unique.
        ///
        /// Every type has the system fields; they are listed only where they carry an index.
        public var fields: [Field] {
            didSet { fields = Self.inOrder(fields) }
        }

        /// The permissions of each role in the public database: one grant per role, sorted by role.
        public var grants: [Grant] {
            didSet { grants = Self.merged(grants) }
        }

        package init(name: String, fields: [Field] = [], grants: [Grant] = []) {
            self.name = name
            self.fields = Self.inOrder(fields)
            self.grants = Self.merged(grants)
        }

        /// The field of that name, as the schema names it; nil if it is not listed.
        public func field(_ name: String) -> Field? {
            fields.first { $0.name == name }
        }

        private static func inOrder(_ fields: [Field]) -> [Field] {
            fields
                .filter { !$0.indexes.isEmpty || SystemField(rawValue: $0.name) == nil }
                .sorted { $0.name < $1.name }
        }

        private static func merged(_ grants: [Grant]) -> [Grant] {
            var permissions: [String: Permissions] = [:]
            for grant in grants {
                permissions[grant.role, default: []].formUnion(grant.permissions)
            }
            return permissions.filter { !$0.value.isEmpty }
                .map { Grant(role: $0.key, permissions: $0.value) }
                .sorted { $0.role < $1.role }
        }
    }

    /// A field of a record type.
    public struct Field: Hashable, Sendable {
        /// A letter, then letters, digits and underscores; system fields have names of their own.
        public var name: String
        package var type: DeclaredType
        /// The ways in which queries can use the field.
        public var indexes: Indexes

        package init(name: String, type: DeclaredType, indexes: Indexes = []) {
            self.name = name
            self.type = type
            self.indexes = indexes
        }

        /// The type as in the schema language, such as `STRING` or `LIST<INT64>`.
        public var typeName: String { type.name }
    }

    /// The ways in which queries can use a field.
    public struct Indexes: OptionSet, Hashable, Sendable {
        /// One bit for each index; other bits are dropped.
        public let rawValue: UInt8

        /// The indexes with these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue & 7 }

        /// Compare for equality, and find members of lists.
        public static let queryable = Indexes(rawValue: 1)
        /// Sort by the field, and compare for order.
        public static let sortable = Indexes(rawValue: 2)
        /// Find words in texts.
        public static let searchable = Indexes(rawValue: 4)
    }

    /// The permissions of a role on the records of a type.
    public struct Permissions: OptionSet, Hashable, Sendable {
        /// One bit for each permission; other bits are dropped.
        public let rawValue: UInt8

        /// The permissions with these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue & 7 }

        /// Fetch and query records.
        public static let read = Permissions(rawValue: 1)
        /// Save new records.
        public static let create = Permissions(rawValue: 2)
        /// Change and delete records.
        public static let write = Permissions(rawValue: 4)
    }

    /// The permissions of one role.
    public struct Grant: Hashable, Sendable {
        /// A role of the schema, or one that every container has.
        public var role: String
        /// What the role may do with records of the type.
        public var permissions: Permissions

        /// Lets a role do so much.
        public init(role: String, permissions: Permissions) {
            self.role = role
            self.permissions = permissions
        }
    }
}
