// The schema as operators read, import and deploy it.
//
// `schema.proto`. The schema travels as text in the schema language, which the node reads.

package import CumulusModel

/// A text in the schema language, or a part of one.
package typealias ReadSchemaResponse = BytesMessage

package struct ImportSchemaRequest: Coded, Hashable {
    /// Text in the schema language.
    package var ckdb: Bytes = []
    /// Nothing is to be changed.
    package var onlyValidates = false
    /// What the text lacks is to go.
    package var drops = false

    package init() {}

    package init(ckdb: Bytes, onlyValidates: Bool, drops: Bool) {
        self.ckdb = ckdb
        self.onlyValidates = onlyValidates
        self.drops = drops
    }

    package var roughCount: Int { ckdb.count + 8 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &ckdb)
        try coder.flag(2, &onlyValidates)
        try coder.flag(3, &drops)
    }
}

/// Changes, each a text.
package typealias ImportSchemaResponse = TextsMessage

/// Whether it only shows what it would change.
package typealias DeploySchemaRequest = FlagRequest
package typealias DeploySchemaResponse = TextsMessage

/// Whether it only shows what it would change.
package typealias ResetSchemaRequest = FlagRequest

package struct ResetSchemaResponse: WireMessage, Hashable {
    package var changes: [String] = []
    package var zones: UInt64 = 0
    package var roles: UInt64 = 0

    package init() {}

    package init(changes: [String], zones: UInt64, roles: UInt64) {
        self.changes = changes
        self.zones = zones
        self.roles = roles
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &changes)
        try coder.number(2, &zones)
        try coder.number(3, &roles)
    }
}
