// A user beside the one who owns the records of the path `auth`: with a role, and with shares.
//
// Opened once, after the target: it makes the records of that path, and shares them.

import Cumulus
import CumulusModel

struct BenchGuest: Sendable {
    static let name = "guest"
    static let password = "guest of the bench"
    /// The schema's role that may do everything with records of the type `Column`.
    private static let role = "Editor"
    /// More make no difference to what asking costs.
    private static let mostRecords = 20_000

    let container: Container
    /// Records in a zone of the owner's that is not shared.
    let zone: BenchRecords
    let publicRecords: BenchRecords
    /// Records in a zone that is shared as a whole.
    let sharedZone: BenchRecords
    /// Below a root that is shared.
    let sharedTree: BenchRecords

    static func open(
        _ target: BenchTarget,
        _ options: BenchOptions
    ) async throws -> BenchGuest {
        let token = try await target.operate { node in
            _ = try await node.addUser(name, in: BenchNode.container)
            try await node.setPassword(of: name, to: password)
            for user in [BenchNode.user, name] {
                _ = try await node.setRole(
                    role,
                    ofUser: user,
                    isGiven: true,
                    in: BenchNode.container,
                    .development
                )
            }
            return try await node.addToken(forUser: name)
        }
        let guest = try await BenchGuest(target, options, token: token)
        try await guest.fill(target, options)
        return guest
    }

    private init(_ target: BenchTarget, _ options: BenchOptions, token: String) async throws {
        var configuration = Container.Configuration(endpoints: [target.endpoint])
        configuration.accessToken = token
        configuration.connections = options.connections
        container = Container(identifier: BenchNode.container, configuration: configuration)
        let count = min(options.records, BenchGuest.mostRecords)
        let owner = try await target.ownerName()
        func records(_ zone: String, of owner: String? = nil) -> BenchRecords {
            let id = owner.map { RecordZone.ID(zoneName: zone, ownerName: $0) }
            return BenchRecords(count: count, in: id ?? RecordZone.ID(zoneName: zone))
        }
        zone = records("bench-own")
        publicRecords = BenchRecords(count: count, in: .default, type: "Column")
        sharedZone = records("bench-zone", of: owner)
        sharedTree = records("bench-tree", of: owner)
    }

    private func fill(_ target: BenchTarget, _ options: BenchOptions) async throws {
        let database = target.database
        for name in ["bench-own", "bench-zone", "bench-tree"] {
            try await database.save(RecordZone(zoneID: RecordZone.ID(zoneName: name)))
        }
        try await target.fill(zone, in: database, options)
        try await target.fill(publicRecords, in: target.publicDatabase, options)
        try await target.fill(sharedZone.inOwnZone, in: database, options)
        let root = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: "root", zoneID: RecordZone.ID(zoneName: "bench-tree"))
        )
        var whole = Share(recordZoneID: RecordZone.ID(zoneName: "bench-zone"))
        whole.publicPermission = .readWrite
        whole = try await database.save(whole)
        var tree = Share(rootRecord: root)
        tree.publicPermission = .readWrite
        tree = try await database.save(tree, rootRecord: root).share
        try await target.fill(sharedTree.inOwnZone, in: database, options, below: root.recordID)
        for share in [whole, tree] {
            guard let url = share.url else {
                throw BenchProblem(message: "the node gave a share no URL")
            }
            _ = try await container.accept(url)
        }
    }
}
