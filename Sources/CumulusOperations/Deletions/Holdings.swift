// What goes along with a user or a container that is deleted: counts for an operator, who is asked
// before.
//
// Read on a reader thread, before the deletion. The counts are what this node holds: another node
// may add something meanwhile, which goes, too.

import CumulusModel
package import CumulusStorage

package struct Holdings: Hashable, Sendable {
    package var zones = 0
    package var usage = DatabaseUsage()
    package var assets = 0
    /// What the assets take of the disk of each node, about.
    package var assetBytes = 0
    /// Shares that end.
    package var shares = 0
    /// Shares of others that the user leaves.
    package var joinedShares = 0
    package var subscriptions = 0
    /// Roles that users have.
    package var roles = 0
    /// Sessions and access tokens.
    package var sessions = 0
    package var handles = 0
    /// Keys of servers.
    package var keys = 0
    /// Users who have something in a container.
    package var users = 0

    private static let assetsAtOnce = 1_000

    package init() {}

    /// What a user has.
    ///
    /// - Parameters:
    ///   - name: The user's name.
    ///   - now: Milliseconds since 1970 UTC.
    package init(ofUser name: String, now: Int64, in reader: ReadTransaction) throws {
        guard let user = try Users.find(name, in: reader) else { throw Users.unknown(name) }
        sessions = try Sessions.all(of: user.id, now: now, in: reader).count
        handles = try People.handles(of: user.id, in: reader).count
        for (scope, number) in try ScopeDirectory.all(in: reader) where scope != .cluster {
            let owner = user.recordName(in: scope.container)
            if let database = try reader.database(number, DatabaseID(kind: .private, owner: owner))
            {
                try add(database, in: reader)
                shares += try OwnedShares.all(of: name, in: scope.container, number, reader).count
            }
            let caller = Caller(role: .user(owner))
            joinedShares += try reader.locateZones(sharedWith: caller, in: number).count
            subscriptions += try reader.subscriptions(in: number, of: owner).count
            roles += try reader.roleAssignments(in: number)
                .count { $0.user == owner && $0.assignment.isGiven }
        }
    }

    /// Adds what a database holds.
    mutating func add(
        _ database: DatabaseNumber,
        in reader: ReadTransaction
    ) throws(EngineError) {
        zones += try reader.zoneRows(of: database).count { $0.row.exists }
        usage.add(try reader.usage(of: database))
        var last: Bytes? = []
        while let after = last {
            let range = KeyRange.assets(of: database, after: after)
            let rows = try reader.rows(.records, range, limit: Holdings.assetsAtOnce)
            for (key, value) in rows {
                let row = try reader.decoding(key) { () throws(MalformedBytes) in
                    try AssetRow(row: value)
                }
                assets += 1
                assetBytes += Int(clamping: row.size)
            }
            let isLast = rows.count < Holdings.assetsAtOnce
            last = isLast ? nil : rows.last.map { Bytes($0.key.suffix(32)) }
        }
    }
}

extension Holdings {
    private static let rowsAtOnce = 1_000

    /// What is in both environments of a container.
    package init(ofContainer name: String, in reader: ReadTransaction) throws {
        self.init()
        var owners: Set<String> = []
        for environment in Environment.allCases {
            let scope = ScopeID(container: name, environment: environment)
            let number = try Containers.number(of: scope, in: reader)
            for (database, number) in try reader.databases(of: number) {
                let before = zones
                try add(number, in: reader)
                if database.kind == .private, zones > before { owners.insert(database.owner) }
            }
            shares += try Holdings.shares(in: number, reader)
            subscriptions += try reader.subscriptions(in: number).count
            roles += try reader.roleAssignments(in: number).count(where: \.assignment.isGiven)
            keys += try ServiceKeys.all(of: scope, in: reader).count
        }
        users = owners.count
    }

    /// The number of shares in force of a scope.
    private static func shares(
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Int {
        var (count, last) = (0, Bytes?.none)
        repeat {
            let page = try reader.shareIDRows(in: scope, after: last, limit: rowsAtOnce)
            for row in page.rows {
                guard let number = try reader.number(of: row.zone, in: scope) else { continue }
                for name in row.recordNames
                where try reader.shareInForce(name, in: number) != nil { count += 1 }
            }
            last = page.next
        } while last != nil
        return count
    }
}
