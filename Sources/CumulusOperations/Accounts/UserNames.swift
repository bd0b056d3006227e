// Finds users by their record names. A record name is a hash of the container and of the user's id,
// and doesn't lead back to the user, so the names of users who want to be found are kept in memory.
//
// Each node has one, and `People` asks it. The names of a container are made when a caller first
// asks for one of them, which reads the profiles of all users. After that they follow the profiles
// that change, whether a caller of this node, a peer's commit or a peer's state changes them.
// Nothing is stored: each start of a node begins anew. A user found here may have been disabled
// since, or may not want to be found any more: `People` checks that each time.

import CumulusModel
package import CumulusStorage
import Synchronization

package final class UserNames: Sendable {
    /// The most names that are kept, for all containers together: about 60 MB of memory.
    ///
    /// If there are more, only the names of the container that was asked about last are kept.
    package static let most = 1_000_000
    /// The profiles that are in memory at a time while all are read.
    private static let profilesAtOnce = 1_000

    private let changed: ChangedProfiles
    private let most: Int
    private let containers = Mutex<[String: NamesOfContainer]>([:])

    /// - Parameter changed: `WriterState.changedProfiles` of the store that is read.
    package init(following changed: ChangedProfiles, most: Int = UserNames.most) {
        self.changed = changed
        self.most = most
    }

    /// The id of the user who has a record name; nil if no user who wants to be found has it.
    func userID<Reader: RowReader & ~Copyable>(
        of name: String,
        in container: String,
        _ cluster: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Bytes? {
        guard Names.isUserRecordName(name),
            let key = Bytes(hex: name.dropFirst()).flatMap({ SixteenBytes($0) })
        else { return nil }
        let known = find(key, in: container)
        if known.isRead { return known.userID }
        // The names are read outside the lock, so that others can look up names meanwhile.
        return find(key, in: container, adding: try names(of: container, cluster, reader)).userID
    }

    /// Looks for a name among the names of its container, if they are known.
    ///
    /// - Parameter read: The names of the container, if they were read for this.
    private func find(
        _ key: SixteenBytes,
        in container: String,
        adding read: NamesOfContainer? = nil
    ) -> (isRead: Bool, userID: Bytes?) {
        containers.withLock { containers in
            if let read, containers[container] == nil {
                let count = containers.values.reduce(read.users.count) { $0 + $1.users.count }
                if count > most { containers = [:] }
                containers[container] = read
            }
            guard containers[container] != nil else { return (false, nil) }
            let user = containers[container]?.user(of: key, in: container, following: changed)
            return (true, user?.bytes)
        }
    }

    /// Reads the profiles of all users, and makes their names in a container.
    private func names<Reader: RowReader & ~Copyable>(
        of container: String,
        _ cluster: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> NamesOfContainer {
        var names = NamesOfContainer()
        var range = KeyRange.registers(cluster, AccountRegister.profile)
        while true {
            let page = try reader.rows(.meta, range, limit: UserNames.profilesAtOnce)
            for (key, value) in page {
                var parts = KeyReader(key)
                _ = try parts.number(ScopeNumber.self)
                _ = try parts.content()
                let userID = try parts.content()
                let profile = try reader.decoding(key) { () throws(MalformedBytes) in
                    try RegisterRow(row: value).value.map { (value) throws(MalformedBytes) in
                        try People.Profile(value: value)
                    }
                }
                if profile?.isDiscoverable == true { names.add(userID, in: container) }
            }
            guard page.count == UserNames.profilesAtOnce, let last = page.last else { break }
            range.start = last.key + [0]
        }
        return names
    }
}

/// The users of one container, by their record names.
private struct NamesOfContainer {
    /// The ids of users, by what follows the underscore of their record names.
    var users: [SixteenBytes: SixteenBytes] = [:]
    /// How many of the changed profiles were taken over.
    private var followed = 0

    /// Takes over the profiles that changed since the last time, and looks for a name.
    mutating func user(
        of name: SixteenBytes,
        in container: String,
        following changed: ChangedProfiles
    ) -> SixteenBytes? {
        let users = changed.users(after: followed)
        for userID in users { add(userID, in: container) }
        followed += users.count
        return self.users[name]
    }

    mutating func add(_ userID: Bytes, in container: String) {
        guard let id = SixteenBytes(userID),
            let name = SixteenBytes(Users.digest(of: userID, in: container))
        else { return }
        users[name] = id
    }
}

/// The id of a user, or the digest in its record name; two numbers take less room than an array.
private struct SixteenBytes: Hashable {
    private var high: UInt64
    private var low: UInt64

    /// Returns nil unless there are exactly 16 bytes.
    init?(_ bytes: Bytes) {
        guard bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: Bytes {
        [high, low].flatMap { number in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        }
    }
}
