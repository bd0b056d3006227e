// The calls on zones: list, fetch, modify.
//
// `zones.proto`.

package import CumulusModel

/// `Zone`.
package struct WireZone: Coded, Hashable {
    package var id: WireZoneID?
    package var capabilities: UInt32 = 0

    package init() {}

    package init(_ id: WireZoneID, capabilities: UInt32 = 0) {
        self.id = id
        self.capabilities = capabilities
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &id)
        try coder.number(2, &capabilities)
    }
}

extension RecordZone {
    /// nil if it has no id.
    package init?(_ wire: WireZone) {
        guard let id = wire.id else { return nil }
        self.init(zoneID: id.id, capabilities: Capabilities(rawValue: wire.capabilities))
    }
}

package struct ListZonesRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0

    package init() {}

    package init(database: DatabaseScope) {
        self.database = UInt32(database.rawValue)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
    }
}

package typealias ListZonesResponse = MessageList<WireZone>

extension ListZonesResponse {
    package var zones: [RecordZone] { elements.compactMap { RecordZone($0) } }
}

package struct FetchZonesRequest: Coded, Hashable {
    package var database: UInt32 = 0
    package var ids: [WireZoneID] = []

    package init() {}

    package init(database: DatabaseScope, ids: [WireZoneID]) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.list(2, &ids)
    }
}

package typealias ZoneResult = Result<RecordZone, ServiceError>
/// `ZoneResult` of zones.proto.
package typealias WireZoneResult = WireResult<WireZone>

extension WireZoneResult {
    fileprivate var zone: ZoneResult { result { RecordZone($0) } }
}

package typealias FetchZonesResponse = MessageList<WireZoneResult>

extension FetchZonesResponse {
    package var results: [ZoneResult] { elements.map(\.zone) }
}

package struct ModifyZonesRequest: Coded, Hashable {
    package var database: UInt32 = 0
    package var saves: [WireZoneID] = []
    package var deletes: [WireZoneID] = []

    package init() {}

    package init(database: DatabaseScope, saves: [WireZoneID], deletes: [WireZoneID]) {
        self.database = UInt32(database.rawValue)
        self.saves = saves
        self.deletes = deletes
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        var zones = saves.map { WireZone($0) }
        try coder.list(2, &zones)
        saves = zones.map { $0.id ?? WireZoneID() }
        try coder.list(3, &deletes)
    }
}

package struct ModifyZonesResponse: WireMessage {
    package var saveResults: [WireZoneResult] = []
    package var deleteResults: [WireOutcome] = []

    package init() {}

    package init(saves: [WireZoneResult], deletes: [WireOutcome]) {
        saveResults = saves
        deleteResults = deletes
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &saveResults)
        try coder.list(2, &deleteResults)
    }

    package var saves: [ZoneResult] { saveResults.map(\.zone) }
    package var deletes: [ServiceError?] { deleteResults.map(\.failure) }
}
