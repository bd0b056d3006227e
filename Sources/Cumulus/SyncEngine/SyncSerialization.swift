// A sync engine's state as an app keeps it: a versioned form of `SyncLedger`.
//
// Made for each `stateUpdate` event, and read when an engine begins. A release reads the forms of
// earlier releases. A form that it does not know is an error, because a guess would lose changes.

import CumulusModel

extension SyncEngine.State {
    /// The state that an engine needs to continue where an earlier one stopped.
    ///
    /// Keep the newest one that a ``SyncEngine/Event/stateUpdate(_:)`` event brought, together with
    /// what the events before it brought, and begin the next engine with it.
    public struct Serialization: Sendable {
        let ledger: SyncLedger
    }
}

extension SyncEngine.State.Serialization: Codable {
    /// Reads a state; fails if a newer release wrote it.
    public init(from decoder: any Decoder) throws {
        let form = try Version(from: decoder)
        guard form.version == Contents.version else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: """
                        the state of a sync engine has version \(form.version), and this release \
                        reads version \(Contents.version): update the app, or begin without a state
                        """
                )
            )
        }
        ledger = try Contents(from: decoder).ledger
    }

    /// Writes the state.
    public func encode(to encoder: any Encoder) throws {
        try Contents(ledger).encode(to: encoder)
    }
}

private struct Version: Codable {
    var version: Int
}

/// The form of version 1.
private struct Contents: Codable {
    static let version = 1

    struct ZoneName: Codable {
        var name: String
        var owner: String

        init(_ id: RecordZone.ID) { (name, owner) = (id.zoneName, id.ownerName) }

        var id: RecordZone.ID { RecordZone.ID(zoneName: name, ownerName: owner) }
    }

    struct Zone: Codable {
        var zone: ZoneName
        var token: ServerChangeToken?
        var isRefetched: Bool
    }

    struct ZoneChange: Codable {
        var zone: ZoneName
        var isDeletion: Bool
    }

    struct RecordChange: Codable {
        var name: String
        var zone: ZoneName
        var isDeletion: Bool
    }

    var version = Contents.version
    var user: String?
    var databaseToken: ServerChangeToken?
    var zones: [Zone]
    var unfetched: [ZoneName]
    var zoneChanges: [ZoneChange]
    var recordChanges: [RecordChange]
    var hasUntrackedChanges: Bool

    init(_ ledger: SyncLedger) {
        user = ledger.user
        databaseToken = ledger.databaseToken
        zones = ledger.zones.map { id, zone in
            Zone(zone: ZoneName(id), token: zone.token, isRefetched: zone.isRefetched)
        }
        unfetched = ledger.unfetched.map(ZoneName.init)
        zoneChanges = ledger.zoneChanges.all.map { change in
            ZoneChange(zone: ZoneName(change.item), isDeletion: change.isDeletion)
        }
        recordChanges = ledger.recordChanges.all.map { change in
            RecordChange(
                name: change.item.recordName,
                zone: ZoneName(change.item.zoneID),
                isDeletion: change.isDeletion
            )
        }
        hasUntrackedChanges = ledger.hasUntrackedChanges
    }

    var ledger: SyncLedger {
        var known: [RecordZone.ID: SyncLedger.Zone] = [:]
        for zone in zones {
            known[zone.zone.id] = SyncLedger.Zone(
                token: zone.token,
                isRefetched: zone.isRefetched
            )
        }
        return SyncLedger(
            user: user,
            databaseToken: databaseToken,
            zones: known,
            unfetched: unfetched.map(\.id),
            zoneChanges: zoneChanges.map { change in
                let id = change.zone.id
                return change.isDeletion ? .deleteZone(id) : .saveZone(RecordZone(zoneID: id))
            },
            recordChanges: recordChanges.map { change in
                let id = Record.ID(recordName: change.name, zoneID: change.zone.id)
                return change.isDeletion ? .deleteRecord(id) : .saveRecord(id)
            },
            hasUntrackedChanges: hasUntrackedChanges
        )
    }
}
