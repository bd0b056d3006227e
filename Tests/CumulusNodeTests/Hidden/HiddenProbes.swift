// What each caller asks in both worlds: every method, of all that the caller sees, and by the names
// of what it may not see.
//
// The order is the same for all callers: first what changes nothing, then changes.

import CumulusAssets
import CumulusModel
import CumulusTesting
import CumulusWire

@testable import CumulusNode

extension HiddenCaller {
    /// A place where records are.
    struct Place {
        let database: DatabaseScope
        let zone: WireZoneID
        let name: String

        init(_ database: DatabaseScope, _ zone: String, of owner: String = "") {
            self.database = database
            self.zone = WireZoneID(name: Bytes(zone.utf8), owner: Bytes(owner.utf8))
            name = "\(database) \(zone)"
        }
    }

    var places: [Place] {
        [Place(.public, Names.defaultZone), Place(.private, "trees")] + sharedPlaces
    }

    /// Zones of others: some are shared with some of the callers, some are hidden from all.
    var sharedPlaces: [Place] {
        HiddenScene.zones.map { Place(.shared, $0, of: scene.owner) } + [
            Place(.shared, "vault", of: scene.owner), Place(.shared, "own", of: scene.hidden),
        ]
    }

    func askAll() throws {
        try askOfAccounts()
        try askOfZones()
        try askOfRecords()
        try askOfChanges()
        try askOfShares()
        try askOfAssets()
        try askAsOperator()
        try change()
    }

    // MARK: Reads

    private func askOfAccounts() throws {
        try ask(.accountsWhoAmI, "", [])
        try ask(.accountsSessions, "", SessionsRequest([]).encoded())
        for name in ["victim", "nobody"] {
            let name = Bytes(name.utf8)
            try ask(.accountsSessions, "of another", SessionsRequest(name).encoded())
            let revoking = RevokeSessionsRequest(id: Bytes(repeating: 7, count: 32), user: name)
            try ask(.accountsRevoke, "of another", revoking.encoded())
            try ask(.accountsProfile, "of another", ProfileRequest(name).encoded())
            try ask(.pushesList, "of another", ListPushesRequest(name).encoded())
            let ending = EndPushesRequest(id: Bytes(repeating: 7, count: 16), user: name)
            try ask(.pushesEnd, "of another", ending.encoded())
        }
        try ask(.accountsProfile, "", ProfileRequest([]).encoded())
        try ask(.pushesList, "", ListPushesRequest([]).encoded())
        try ask(.pushesServices, "", [])
        let users = [scene.hidden, scene.owner, "_" + String(repeating: "0", count: 32)]
        let finding = DiscoverRequest(handles: handles, users: users.map { Bytes($0.utf8) })
        try ask(.accountsDiscover, "", finding.encoded())
        let subscriptions = FetchSubscriptionsRequest(database: .public, ids: nil)
        try ask(.subscriptionsFetch, "all", subscriptions.encoded())
        let zoes = FetchSubscriptionsRequest(database: .public, ids: [Bytes("zoes".utf8)])
        try ask(.subscriptionsFetch, "another's", zoes.encoded())
    }

    /// The handles of a hidden user of one world, of no user, and of other invited people.
    private var handles: [WireHandle] {
        ["victim", "nobody", "quentin", "rosamunde"].map {
            WireHandle(kind: 1, value: Bytes("\($0)@example.org".utf8))
        }
    }

    private func askOfZones() throws {
        for database in [DatabaseScope.public, .private, .shared] {
            try ask(.zonesList, "\(database)", ListZonesRequest(database: database).encoded())
        }
        for place in places {
            let fetch = FetchZonesRequest(database: place.database, ids: [place.zone])
            try ask(.zonesFetch, place.name, fetch.encoded())
        }
    }

    private func askOfRecords() throws {
        for place in places {
            let names = [
                "root", "inside-1", "outside", "outside-7", "outside-99", "share", "share-2",
                "root-2", "gold", "photo", "trips-1", "park-1", "note-1", "known", "tally",
                "report-1", "\(who)-1", "mine", "nothing", Names.zoneShare,
            ]
            try ask(.recordsFetch, place.name, fetch(names, place))
            let list = ListRecordsRequest(database: place.database, zone: place.zone)
            try ask(.recordsList, place.name, list.encoded())
            try query(place)
        }
        // There in both worlds; there in one; gone in one, and never there in the other.
        for name in ["diary-1", "diary-7", "secret-7", "diary-99"] {
            let known = name.hasSuffix("-7") ? HiddenCaller.takenNames : ""
            let place = Place(.public, Names.defaultZone)
            try ask(.recordsFetch, name, fetch([name], place), mayDiffer: known)
        }
        try ask(.recordsListConflicts, "", [])
    }

    /// Names are given once in a database: who tries one learns whether it is taken.
    static let takenNames = "a name that is taken"

    private func fetch(_ names: [String], _ place: Place) -> Bytes {
        let ids = names.map { WireRecordID(name: Bytes($0.utf8), zone: place.zone) }
        return FetchRecordsRequest(database: place.database, ids: ids).encoded()
    }

    private func query(_ place: Place) throws {
        let types =
            place.database == .public
            ? ["Note", "Diary", "Report", "Secret", "Tally", "Users"] : ["Note"]
        for type in types {
            let predicates: [Query.Predicate] = [
                .all, .field("n") >= 5_000, .field("n") < 3 && .field("text") == "text of other",
            ]
            for predicate in predicates {
                let query = Query(recordType: type, predicate: predicate)
                try ask(query, place)
                var request = QueryRecordsRequest(query, database: place.database, zone: place.zone)
                request.explains = true
                request.counts = true
                try ask(.recordsQuery, "\(place.name) \(query), counted", request.encoded())
            }
            let sorted = [Query.SortDescriptor(key: "n", ascending: false)]
            try ask(Query(recordType: type, sortDescriptors: sorted), place)
        }
        guard place.database == .public, !past.cursor.isEmpty else { return }
        var request = QueryRecordsRequest(Query(recordType: "Note"), database: .public, zone: nil)
        request.limit = 5
        request.cursor = past.cursor
        try ask(.recordsQuery, "from the past", request.encoded())
    }

    /// Some pages of a query.
    private func ask(_ query: Query, _ place: Place) throws {
        var request = QueryRecordsRequest(query, database: place.database, zone: place.zone)
        request.limit = 7
        request.explains = true
        for _ in 0..<3 {
            let what = "\(place.name) \(query)"
            let answer = try ask(.recordsQuery, what, request.encoded())
            guard let page = answer.first else { return }
            request.cursor = try QueryRecordsResponse(wire: page).cursor
            if request.cursor.isEmpty { return }
        }
    }

    private func askOfChanges() throws {
        for database in [DatabaseScope.private, .shared, .public] {
            for token in [[], database == .shared ? past.sharedZones : []] {
                let fetch = FetchDatabaseChangesRequest(database: database, token: token, limit: 0)
                let what = "\(database)\(token.isEmpty ? "" : " since the past")"
                try ask(.changesDatabase, what, fetch.encoded())
                try ask(.changesFollowDatabase, what, fetch.encoded()) {
                    try !FetchDatabaseChangesResponse(wire: $0).moreComing
                }
            }
        }
        let tokens = ["trips": past.trips, "trees": past.trees]
        for place in places {
            var pages = [changes(place, limit: 0)]
            let name = String(decoding: place.zone.name, as: UTF8.self)
            if place.database == .public {
                pages.append(changes(place, since: past.publicZone, limit: 0))
            } else if place.database == .shared, let token = tokens[name], !token.isEmpty {
                pages.append(changes(place, since: token, limit: 0))
                pages.append(changes(place, since: token, limit: 3))
            }
            for (number, page) in pages.enumerated() {
                try ask(.changesFollowZone, "\(place.name) \(number)", page.encoded()) {
                    try !FetchZoneChangesResponse(wire: $0).moreComing
                }
                try fetchAll(page, "\(place.name) \(number)")
            }
        }
        for token in [[], past.feed] {
            let feed = FollowFeedRequest(
                token: token,
                untilCheckpoint: true,
                isHistory: token.isEmpty
            )
            try ask(.feedsFollow, token.isEmpty ? "history" : "", feed.encoded())
        }
    }

    private func changes(
        _ place: Place,
        since token: Bytes = [],
        limit: UInt32
    ) -> FetchZoneChangesRequest {
        FetchZoneChangesRequest(
            database: place.database,
            zone: place.zone,
            token: token,
            limit: limit
        )
    }

    private func fetchAll(_ first: FetchZoneChangesRequest, _ what: String) throws {
        var request = first
        while true {
            let answer = try ask(.changesZone, what, request.encoded())
            guard let message = answer.first else { return }
            let page = try FetchZoneChangesResponse(wire: message)
            request.token = page.token
            if !page.moreComing { return }
        }
    }

    private func askOfShares() throws {
        for (zone, url) in scene.urls.sorted(by: { $0.key < $1.key }) {
            let request = ShareMetadataRequest(url: Bytes(url.utf8), wantsRootRecord: true)
            try ask(.sharingMetadata, zone, request.encoded())
        }
        let guess = Bytes("cumulus:/share/AAAAAAAAAAAAAAAAAAAAAA".utf8)
        try ask(.sharingMetadata, "a guess", ShareMetadataRequest(url: guess).encoded())
        let finding = LookUpParticipantsRequest(handles: handles)
        try ask(.sharingLookUp, "", finding.encoded())
    }

    private func askOfAssets() throws {
        for place in places {
            let request = PrepareAssetsRequest(
                database: place.database,
                lists: [HiddenCaller.hiddenAsset.bytes],
                zone: place.database == .shared ? place.zone : nil
            )
            try ask(.assetsPrepare, place.name, request.encoded())
            try downloadShown(place)
            var download = DownloadAssetRequest(
                database: place.database,
                asset: HiddenCaller.hiddenAsset.digest
            )
            try ask(.assetsDownload, place.name, download.encoded())
            for name in ["known", "root", "outside", "photo", "nothing"] {
                download.record = WireRecordID(name: Bytes(name.utf8), zone: place.zone)
                download.field = Bytes("file".utf8)
                try ask(.assetsDownload, "\(place.name) \(name)", download.encoded())
            }
            let upload = UploadChunksRequest(
                database: place.database,
                zone: place.database == .shared ? place.zone : nil
            )
            try ask(.assetsUpload, place.name, upload.encoded())
        }
    }

    /// An asset that all may see.
    private func downloadShown(_ place: Place) throws {
        guard place.database == .public else { return }
        let shown = HiddenScene.shownContent.withUnsafeBytes { ChunkList(cutting: $0) }
        var download = DownloadAssetRequest(database: .public, asset: shown.digest)
        download.record = WireRecordID(name: Bytes("photo-of-all".utf8), zone: nil)
        download.field = Bytes("file".utf8)
        try ask(.assetsDownload, "what all may see", download.encoded())
    }

    private static let hiddenAsset = HiddenScene.hiddenContent.withUnsafeBytes {
        ChunkList(cutting: $0)
    }

    /// What only operators and nodes may ask: nothing is read before it is refused.
    private func askAsOperator() throws {
        for entry in MethodTable.entries {
            guard entry.needs.contains(.operator) || entry.needs.contains(.peer) else { continue }
            try ask(entry.method, "", [0xFF])
        }
    }
}
