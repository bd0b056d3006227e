// What a node holds zone by zone, as operators see it.
//
// `operator.proto`.

package import CumulusModel

/// `ZoneStatus`.
package struct WireZoneStatus: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    package var owner = ""
    package var zone = ""
    package var records: UInt64 = 0
    package var bytes: UInt64 = 0
    package var digest: Bytes = []
    package var horizon = VersionVector()
    /// The size of the assets that the records name.
    package var assetBytes: UInt64 = 0

    package init() {}

    package init(
        database: UInt32,
        owner: String,
        zone: String,
        records: UInt64,
        bytes: UInt64,
        digest: Bytes,
        horizon: VersionVector,
        assetBytes: UInt64 = 0
    ) {
        self.database = database
        self.owner = owner
        self.zone = zone
        self.records = records
        self.bytes = bytes
        self.digest = digest
        self.horizon = horizon
        self.assetBytes = assetBytes
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.text(2, &owner)
        try coder.text(3, &zone)
        try coder.number(4, &records)
        try coder.number(5, &bytes)
        try coder.bytes(6, &digest)
        try coder.vector(7, &horizon)
        try coder.number(8, &assetBytes)
    }
}

package typealias ZoneStatusResponse = MessageList<WireZoneStatus>
