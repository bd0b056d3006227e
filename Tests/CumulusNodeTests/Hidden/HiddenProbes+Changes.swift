// What each caller tries to change in both worlds: what it may, what it may not, and what it would
// find out something by.

import CumulusModel
import CumulusTesting
import CumulusWire

@testable import CumulusNode

extension HiddenCaller {
    func change() throws {
        try changeRecords()
        try changeTallies()
        try changeZonesAndSubscriptions()
        try changeAccounts()
        try acceptShares()
    }

    // MARK: Records

    private func changeRecords() throws {
        for place in places {
            let isPublic = place.database == .public
            for name in ["by-\(who)", "outside", "known", "inside-1", "share"] {
                let known = isPublic ? "Diary" : "Note"
                try save("\(place.name) \(name)", record(name, place, type: known), place)
            }
            // A parent or a reference that is hidden in one world, and one that is in none.
            for target in ["outside-7", "nothing"] where !isPublic {
                var child = record("below-\(target)-\(who)", place)
                child.parent = Record.Reference(recordName: target)
                try save("\(place.name) below \(target)", child, place)
                var referrer = record("to-\(target)-\(who)", place)
                referrer["other"] = .reference(
                    Record.Reference(recordName: target, action: .deleteSelf)
                )
                try save("\(place.name) to \(target)", referrer, place)
            }
            var inside = record("new-\(who)", place)
            inside.parent = Record.Reference(recordName: "root")
            if !isPublic { try save("\(place.name) inside", inside, place) }
            for name in ["outside-7", "nothing", "root", "known"] {
                try delete(name, place)
            }
        }
    }

    /// Asked when all callers have asked everything else: it makes in one world what is there in
    /// the other.
    func tryTakenNames() throws {
        switch who {
        case .anonymous:
            let password = Bytes("a password".utf8)
            let name = SignInRequest(name: Bytes("victim".utf8), password: password)
            try ask(
                .accountsRegister,
                "a taken name",
                name.encoded(),
                mayDiffer: HiddenCaller.takenNames
            )
        case .stranger:
            let place = Place(.public, Names.defaultZone)
            let diary = record("diary-8", place, type: "Diary")
            try save("a taken name", diary, place, mayDiffer: HiddenCaller.takenNames)
        case .writer:
            let trees = Place(.shared, "trees", of: scene.owner)
            var taken = record("outside-8", trees)
            taken.parent = Record.Reference(recordName: "root")
            try save("a taken name", taken, trees, mayDiffer: HiddenCaller.takenNames)
        case .reader: try delete("share", Place(.shared, "trees", of: scene.owner))
        case .moderator, .invited, .former, .joiner: break
        }
    }

    /// Counters of a record that everybody signed in may change, and nobody here read.
    private func changeTallies() throws {
        let place = Place(.public, Names.defaultZone)
        for delta: Int64 in [1, 100, -100, .max - 1_000, .min] {
            var tally = Record(recordType: "Tally", recordID: id("tally", place))
            tally.increment("n", by: delta)
            try save("tally \(delta)", tally, place)
        }
        var tally = Record(recordType: "Tally", recordID: id("tally", place))
        tally["text"] = "changed"
        try save("the tally's text", tally, place)
        let stale = RawRequest.save(encoded: [tally.encodedSave(allKeys: true)], in: .public)
        try ask(.recordsModify, "the tally, by an old tag", stale)
    }

    private func id(_ name: String, _ place: Place) -> Record.ID {
        let zone = RecordZone.ID(
            zoneName: String(decoding: place.zone.name, as: UTF8.self),
            ownerName: String(decoding: place.zone.owner, as: UTF8.self)
        )
        return Record.ID(recordName: name, zoneID: place.zone.owner.isEmpty ? own(zone) : zone)
    }

    private func own(_ zone: RecordZone.ID) -> RecordZone.ID {
        RecordZone.ID(zoneName: zone.zoneName)
    }

    private func record(_ name: String, _ place: Place, type: String = "Note") -> Record {
        let type = name == "share" ? Names.shareType : type
        var record = Record(recordType: type, recordID: id(name, place))
        record["text"] = .string("by \(who)")
        return record
    }

    /// A save that compares no tags.
    private func save(
        _ what: String,
        _ record: Record,
        _ place: Place,
        mayDiffer known: String = ""
    ) throws {
        let request = RawRequest.save(
            encoded: [record.encodedSave(allKeys: true)],
            in: place.database,
            policy: 1
        )
        try ask(.recordsModify, what, request, mayDiffer: known)
    }

    private func delete(_ name: String, _ place: Place) throws {
        let request = ModifyRecordsRequest(
            database: place.database,
            policy: 1,
            isAtomic: true,
            saves: [],
            deletes: [WireRecordID(name: Bytes(name.utf8), zone: place.zone)]
        ).encoded()
        try ask(.recordsModify, "\(place.name) without \(name)", request)
    }

    // MARK: The rest

    private func changeZonesAndSubscriptions() throws {
        for place in places {
            let making = ModifyZonesRequest(
                database: place.database,
                saves: [place.zone],
                deletes: []
            )
            try ask(.zonesModify, place.name, making.encoded())
            guard place.database == .shared else { continue }
            let zone = RecordZone.ID(
                zoneName: String(decoding: place.zone.name, as: UTF8.self),
                ownerName: String(decoding: place.zone.owner, as: UTF8.self)
            )
            try subscribe("to-a-zone", .zone(zone), place.database)
            let leaving = ModifyZonesRequest(
                database: place.database,
                saves: [],
                deletes: [WireZoneID(name: Bytes("nothing".utf8), owner: place.zone.owner)]
            )
            try ask(.zonesModify, "\(place.name), deleted", leaving.encoded())
        }
        let vault = WireZoneID(name: Bytes("vault".utf8), owner: [])
        let making = ModifyZonesRequest(database: .private, saves: [vault], deletes: [])
        try ask(.zonesModify, "one's own", making.encoded())
        let kind = Subscription.Kind.query(recordType: "Diary", predicate: .field("n") > 7)
        try subscribe("zoes", kind, .public)
        let reading = MarkReadRequest(ids: [Bytes(repeating: 7, count: 16)], token: past.feed)
        try ask(.feedsMarkRead, "", reading.encoded())
    }

    private func subscribe(
        _ name: String,
        _ kind: Subscription.Kind,
        _ database: DatabaseScope
    ) throws {
        let request = ModifySubscriptionsRequest(
            database: database,
            saves: [WireSubscription(Subscription(id: name, kind: kind))],
            deletes: []
        )
        try ask(.subscriptionsModify, name, request.encoded())
    }

    private func changeAccounts() throws {
        let profile = SetProfileRequest(displayName: Bytes("\(who)".utf8), isDiscoverable: true)
        try ask(.accountsSetProfile, "", profile.encoded())
        let nobodys = RevokeSessionsRequest(id: Bytes(repeating: 7, count: 32), user: [])
        try ask(.accountsRevoke, "", nobodys.encoded())
        // Other callers have registered it, too.
        let address = RegisterPushRequest(.fcm(token: "shared-device"))
        try ask(.pushesRegister, "", address.encoded())
        let ending = EndPushesRequest(id: Bytes(repeating: 7, count: 16))
        try ask(.pushesEnd, "", ending.encoded())
        // Passwords take long: two callers are enough.
        guard who == .anonymous || who == .stranger else { return }
        let password = Bytes("a wrong password".utf8)
        for name in ["victim", "nobody"] {
            let signIn = SignInRequest(name: Bytes(name.utf8), password: password)
            try ask(.accountsSignIn, name, signIn.encoded())
        }
        let change = ChangePasswordRequest(oldPassword: password, newPassword: password)
        try ask(.accountsChangePassword, "", change.encoded())
        let token = Bytes(Bytes(repeating: 7, count: 48).hex.utf8)
        let reset = ResetPasswordRequest(token: token, password: password)
        try ask(.accountsResetPassword, "", reset.encoded())
    }

    private func acceptShares() throws {
        for (zone, url) in scene.urls.sorted(by: { $0.key < $1.key }) {
            let request = AcceptShareRequest(Bytes(url.utf8))
            try ask(.sharingAccept, zone, request.encoded())
        }
    }
}
