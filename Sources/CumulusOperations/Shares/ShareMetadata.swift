// What somebody learns of a share by its URL, before and after accepting: whose it is, what it
// shares, and what the caller may do.
//
// The owner, participants and invited users are told, and everybody while the share is open.

package import CumulusModel
package import CumulusStorage

package struct ShareMetadata: Hashable, Sendable {
    /// The zone of the share, with its owner.
    package var zone: ZoneAddress
    /// The share's record.
    package var share: RecordView
    /// The record name of the root; nil if the zone is shared.
    package var root: String?
    /// The root, if it was asked for.
    package var rootRecord: RecordView?
    /// The caller's role.
    package var role: ShareParticipant.Role
    package var permission: ShareParticipant.Permission
    package var status: ShareParticipant.AcceptanceStatus
}

package struct FetchShareMetadata: Sendable {
    package var share: ShareID
    package var wantsRoot: Bool
    /// Sorted names of the wanted fields of the root; nil means all.
    package var keys: [String]?

    package init(share: ShareID, wantsRoot: Bool = false, keys: [String]? = nil) {
        self.share = share
        self.wantsRoot = wantsRoot
        self.keys = keys
    }

    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> ShareMetadata {
        do {
            // Strangers are told of open shares, but nothing of what is shared.
            let isStranger = caller.role == .anonymous
            if !isStranger { _ = try Authorisation.database(.shared, for: caller) }
            guard let found = try reader.findShare(share, in: number) else {
                throw FoundShare.notFound
            }
            let standing =
                isStranger
                ? found.standingOfStrangers
                : try reader.standing(of: caller.user, to: found, in: scope.container)
            if case .outside(let error) = standing { throw error }
            var metadata = try reader.metadata(of: found, for: caller, standing)
            if wantsRoot, !isStranger, let root = metadata.root,
                let row = try reader.get(.record(found.number, root))
            {
                metadata.rootRecord = try reader.decoding(Bytes(root.utf8)) {
                    () throws(MalformedBytes) in
                    try found.zone.showing(keys) { (keys) throws(MalformedBytes) in
                        try RecordView(row: row, name: root, keys: keys)
                    }
                }
            }
            return metadata
        } catch {
            throw ReadFailure(error)
        }
    }
}

extension RowReader where Self: ~Copyable {
    /// What a caller is told of a share, given how it stands to it.
    borrowing func metadata(
        of found: FoundShare,
        for caller: Caller,
        _ standing: ShareStanding
    ) throws(EngineError) -> ShareMetadata {
        let zone = found.zone
        let name = found.share.name
        let view = try decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try zone.showing(nil) { _ in RecordView(found.share.row, name: name) }
        }
        guard var view else { throw .corrupt("the share '\(name)' can't be shown") }
        let entries = found.share.entries
        view.add(found.share, in: zone.zone, for: caller.user)
        var metadata = ShareMetadata(
            zone: ZoneAddress(name: zone.zone.name, owner: zone.zone.database.owner),
            share: view,
            root: found.share.rootName,
            role: .owner,
            permission: .readWrite,
            status: .accepted
        )
        switch standing {
        case .owner: break
        case .member:
            let own = entries.participants.filter { $0.user == caller.user && entries.isIn($0) }
            metadata.role = own.map(\.role).max() ?? .privateUser
            metadata.permission = own.map(entries.permission(of:)).max() ?? .none
        case .invited(let own):
            metadata.role = own.map(\.role).max() ?? .privateUser
            metadata.permission = own.map(\.permission).max() ?? .none
            metadata.status = .pending
        case .open, .outside:
            metadata.role = .publicUser
            metadata.permission = entries.publicPermission
            metadata.status = .unknown
        }
        return metadata
    }
}

// MARK: - Look-up

/// Makes a participant from a handle, to be added to a share.
///
/// The reads and the answer are the same whether or not a user has the handle, see `People`. The
/// user is named only if it wants to be found.
/// user is named only if it wants to be found.
package struct LookUpParticipant: Sendable {
    package var handle: Handle

    package init(handle: Handle) { self.handle = handle }

    package func run(
        in container: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> ShareDetails.Participant {
        let person = try People.discover(handle, in: container, reader)
        let id = ParticipantID(handle)
        return ShareDetails.Participant(
            id: id.wholeBytes,
            user: person?.user ?? "",
            handle: id.handle(handle.text)
        )
    }
}
