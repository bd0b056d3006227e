// How users find each other: their profiles, their handles, and the look-up from a handle or a
// record name to a user who wants to be found.
//
// Read by `PeopleCalls` of the node, written through `AccountChange`. A look-up tells nothing of
// users who don't want to be found: it does the same reads, and gives the same answer, as for a
// name that no user has. Reading a row that exists takes less than a microsecond longer than
// reading one that doesn't; that difference remains.

package import CumulusModel
package import CumulusStorage

package enum People {
    package struct Profile: Hashable, Sendable {
        /// A name for people; may be empty.
        package var displayName: String
        /// Whether others find the user by its handles and by its record names.
        package var isDiscoverable: Bool

        package init(displayName: String = "", isDiscoverable: Bool = false) {
            self.displayName = displayName
            self.isDiscoverable = isDiscoverable
        }
    }

    /// A handle of a user, and who verified it.
    package struct HeldHandle: Hashable, Sendable {
        package var handle: Handle
        package var verifiedBy: String
    }

    /// A user as others find it.
    package struct Person: Hashable, Sendable {
        /// The user's record name.
        package var user: String
        package var displayName: String
    }

    /// The profile of a user; empty if the user never set one.
    package static func profile<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> Profile {
        guard let scope = try reader.scope(.cluster) else { return Profile() }
        return try stored(userID, scope, in: reader) ?? Profile()
    }

    /// The handles of a user.
    package static func handles<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> [HeldHandle] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        var handles: [HeldHandle] = []
        for (key, _) in try reader.registers(scope, AccountRegister.held, below: [userID]) {
            let handle = try reader.decoding(userID) { () throws(MalformedBytes) in
                try Handle(key: key)
            }
            // The list may be older than the handle's own register.
            guard let holder = try holder(of: handle, scope, in: reader), holder.userID == userID
            else { continue }
            handles.append(HeldHandle(handle: handle, verifiedBy: holder.verifiedBy))
        }
        return handles
    }

    /// The user of a handle; nil if nobody has it, or its user doesn't want to be found or is
    /// disabled.
    package static func discover<Reader: RowReader & ~Copyable>(
        _ handle: Handle,
        in container: String,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Person? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        let userID = try registered(handle, scope, in: reader)?.userID
        return try person(userID, in: container, scope, reader)
    }

    /// The user of a record name in a container; nil if no user has it there, or its user doesn't
    /// want to be found or is disabled.
    package static func discover<Reader: RowReader & ~Copyable>(
        recordName: String,
        in container: String,
        by names: UserNames,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Person? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        let userID = try names.userID(of: recordName, in: container, scope, reader)
        return try person(userID, in: container, scope, reader)
    }

    /// A user as others find it; nil if it doesn't want to be found or is disabled.
    ///
    /// - Parameter userID: The user's id; nil if no user was found.
    private static func person<Reader: RowReader & ~Copyable>(
        _ userID: Bytes?,
        in container: String,
        _ scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Person? {
        // Everything is read even if there is no user, so that the time tells little.
        let id = userID ?? nobody
        let profile = try stored(id, scope, in: reader)
        let isDisabled = try Users.isDisabled(id, scope, in: reader)
        let isDeleted = try Users.isDeleted(id, scope, in: reader)
        let name = Users.User(name: "", id: id, created: 0).recordName(in: container)
        guard userID != nil, let profile, !isDisabled, !isDeleted,
            profile.isDiscoverable || reader.broken.contains(.discoverable)
        else { return nil }
        return Person(user: name, displayName: profile.displayName)
    }

    /// The record name of the user who has a handle; nil if no user has it.
    ///
    /// It may be a user who doesn't want to be found, so the name must not be told.
    static func recordName<Reader: RowReader & ~Copyable>(
        of handle: Handle,
        in container: String,
        _ reader: borrowing Reader
    ) throws(EngineError) -> String? {
        guard let scope = try reader.scope(.cluster),
            let id = try holder(of: handle, scope, in: reader)?.userID
        else { return nil }
        return Users.User(name: "", id: id, created: 0).recordName(in: container)
    }

    /// An id that no user has.
    private static let nobody = Bytes(repeating: 0, count: 16)

    private static func stored<Reader: RowReader & ~Copyable>(
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Profile? {
        guard let value = try reader.register(scope, AccountRegister.profile, [userID])?.value
        else { return nil }
        return try reader.decoding(userID) { () throws(MalformedBytes) in
            try Profile(value: value)
        }
    }

    fileprivate static func holder<Reader: RowReader & ~Copyable>(
        of handle: Handle,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> HandleHolder? {
        let holder = try registered(handle, scope, in: reader)
        // A node that had not heard of the deletion may have given it to a deleted user.
        guard let holder, let userID = holder.userID,
            try Users.isDeleted(userID, scope, in: reader)
        else { return holder }
        return HandleHolder(number: holder.number, userID: nil, verifiedBy: "")
    }

    /// The holder as the register has it, who may be a deleted user.
    private static func registered<Reader: RowReader & ~Copyable>(
        _ handle: Handle,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> HandleHolder? {
        guard let value = try reader.register(scope, AccountRegister.handle, handle.key)?.value
        else { return nil }
        return try reader.decoding(handle.key[1]) { () throws(MalformedBytes) in
            try HandleHolder(value: value)
        }
    }
}

// MARK: - Changes

/// Sets the profile of a user.
package struct SetProfile: UserChange {
    package let user: String?
    private let profile: People.Profile

    /// - Parameter user: The user's name; nil means the caller itself.
    package init(_ profile: People.Profile, user: String?) {
        self.profile = profile
        self.user = user
    }

    package func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        guard try People.profile(of: user.id, in: transaction) != profile else { return [] }
        return [People.register(of: profile, user.id)]
    }
}

/// Gives a handle to a user, even if another user has it, or takes it away from the user.
package struct SetHandle: AccountChange {
    private let handle: Handle
    private let name: String
    private let isHeld: Bool

    package struct Outcome: Hashable, Sendable {
        /// Whether the user had it before.
        package var existed: Bool
        /// Whether another user had it.
        package var isMoved: Bool

        package init(existed: Bool, isMoved: Bool) {
            self.existed = existed
            self.isMoved = isMoved
        }
    }

    package init(_ handle: Handle, user: String, isHeld: Bool) {
        self.handle = handle
        name = user
        self.isHeld = isHeld
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { !isHeld }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.existed != isHeld }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let user = try Users.find(name, in: transaction) else {
            return .failure(Users.unknown(name))
        }
        let known = try People.holder(of: handle, scope, in: transaction)
        let existed = known?.userID == user.id
        // It changes nothing to give a handle again, or to take away one that the user doesn't
        // have.
        guard existed != isHeld else {
            return .success(([], Outcome(existed: existed, isMoved: false)))
        }
        let next = HandleHolder(
            after: known,
            userID: isHeld ? user.id : nil,
            verifiedBy: isHeld ? People.byOperator : ""
        )
        var registers = [
            AccountRegister.held(handle, by: next),
            AccountRegister.listed(handle, of: user.id, isHeld: isHeld),
        ]
        let former = isHeld ? known?.userID : nil
        if let former {
            registers.append(AccountRegister.listed(handle, of: former, isHeld: false))
        }
        return .success((registers, Outcome(existed: existed, isMoved: former != nil)))
    }
}

extension People.Profile {
    /// A profile as its register holds it.
    init(value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        self.init(
            displayName: try reader.text(),
            isDiscoverable: try reader.varint() != 0
        )
    }
}

extension People {
    /// The name for an operator as the one who verified a handle.
    fileprivate static let byOperator = "operator"

    /// The register of a user's profile.
    static func register(of profile: Profile, _ userID: Bytes) -> Commit.Register {
        var value = CanonicalWriter()
        value.delimited(profile.displayName.utf8)
        value.varint(profile.isDiscoverable ? 1 : 0)
        return Commit.Register(
            namespace: AccountRegister.profile,
            key: [userID],
            value: value.bytes
        )
    }

    /// The registers that take all handles away from a user.
    static func release(
        handlesOf userID: Bytes,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        var registers: [Commit.Register] = []
        for held in try handles(of: userID, in: transaction) {
            let known = try holder(of: held.handle, scope, in: transaction)
            let next = HandleHolder(after: known, userID: nil, verifiedBy: "")
            registers.append(AccountRegister.held(held.handle, by: next))
            registers.append(AccountRegister.listed(held.handle, of: userID, isHeld: false))
        }
        return registers
    }

    /// The registers that give a handle to a user; none if somebody has it.
    static func claim(
        _ handle: Handle,
        for userID: Bytes,
        verifiedBy: String,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        let known = try holder(of: handle, scope, in: transaction)
        guard known?.userID == nil else { return [] }
        let next = HandleHolder(after: known, userID: userID, verifiedBy: verifiedBy)
        return [
            AccountRegister.held(handle, by: next),
            AccountRegister.listed(handle, of: userID, isHeld: true),
        ]
    }
}

extension HandleHolder {
    /// The next change of a handle, with a number greater than the known one.
    fileprivate init(after known: HandleHolder?, userID: Bytes?, verifiedBy: String) {
        self.init(
            number: min(known?.number ?? 0, .max - 1) + 1,
            userID: userID,
            verifiedBy: verifiedBy
        )
    }
}

extension AccountRegister {
    fileprivate static func held(_ handle: Handle, by holder: HandleHolder) -> Commit.Register {
        Commit.Register(namespace: self.handle, key: handle.key, value: holder.value)
    }

    fileprivate static func listed(
        _ handle: Handle,
        of userID: Bytes,
        isHeld: Bool
    ) -> Commit.Register {
        Commit.Register(namespace: held, key: [userID] + handle.key, value: isHeld ? [] : nil)
    }
}
