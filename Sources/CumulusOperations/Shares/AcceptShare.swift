// Accepts a share by its URL: as an invited user, or, while the share is open, as somebody who has
// the URL.
//
// Run by the writer. Accepting twice changes nothing, so it needs no request id.

package import CumulusModel
package import CumulusStorage

package struct AcceptShare: ContainerChange {
    package var share: ShareID
    package var limits: Limits

    package init(share: ShareID, limits: Limits = .standard) {
        self.share = share
        self.limits = limits
    }

    package struct Outcome: Hashable, Sendable {
        /// The share, as the caller has it then.
        package var metadata: ShareMetadata
        /// Whether the caller had not accepted it before.
        var isNew: Bool
    }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.isNew }

    package func run(
        for asker: Asker,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        let (scope, caller) = (asker.scope, asker.caller)
        let user: String
        do throws(ServiceError) {
            user = try Authorisation.database(.shared, for: caller).owner
        } catch {
            return .failure(error)
        }
        guard let found = try transaction.findShare(share, in: number) else {
            return .failure(FoundShare.notFound)
        }
        let entries = found.share.entries
        var accepted = AccessEntries()
        switch try transaction.standing(of: user, to: found, in: scope.container) {
        case .owner: return .failure(AcceptShare.ownShare)
        case .outside(let error): return .failure(error)
        case .member: break
        case .invited(let participants):
            guard entries.publicPermission == .none || entries.broken.contains(.waitingInvitations)
            else { return .failure(AcceptShare.invitedAlready) }
            for participant in participants {
                accepted.join(entries.accepting(participant, by: user))
            }
        case .open:
            let count = entries.participants.count(where: entries.isListed)
            guard count < limits.participantsPerShare else { return .failure(full) }
            accepted.join(entries.joining(user, now: transaction.now))
            var next = entries
            next.join(accepted)
            if let refusal = next.refusal(after: entries, limits) {
                return .failure(refusal)
            }
        }
        if !accepted.isEmpty {
            if let refusal = try Feature.access.refusal(in: transaction) {
                return .failure(refusal)
            }
            if let refusal = try tooMany(user, found.zone.zone, number, transaction) {
                return .failure(refusal)
            }
            let access = Commit.Access(
                recordName: found.share.name,
                births: try transaction.births(of: found.share, in: found.number),
                entries: accepted.entries
            )
            _ = try transaction.perform(
                [.access(access)],
                in: number,
                zone: found.zone.zone,
                author: Author(user: user, device: caller.device)
            )
        }
        guard let now = try transaction.findShare(share, in: number) else {
            return .failure(FoundShare.notFound)
        }
        let metadata = try transaction.metadata(of: now, for: caller, .member)
        return .success(Outcome(metadata: metadata, isNew: !accepted.isEmpty))
    }

    /// The error for a full share; users who join by the URL count like all others.
    private var full: ServiceError {
        ServiceError(
            .tooManyParticipants,
            """
            the share has \(limits.participantsPerShare) participants, which is the most; ask its \
            owner to remove some
            """
        )
    }

    /// Why the user can't have access to one more zone; nil if it can, or has access to this one.
    private func tooMany(
        _ user: String,
        _ zone: Commit.Zone,
        _ scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        let known = try transaction.visibleZones(of: user, in: scope)
        guard known.count >= limits.sharedZonesPerUser else { return nil }
        let caller = Caller(role: .user(user))
        let zones = try transaction.locateZones(sharedWith: caller, in: scope).map(\.zone)
        guard zones.count >= limits.sharedZonesPerUser, !zones.contains(zone) else { return nil }
        return ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            a user is in at most \(limits.sharedZonesPerUser) zones of others; leave one first
            """
        )
    }

    private static let ownShare = ServiceError(
        .invalidArguments,
        .invalidValue,
        "the share is your own, so there is nothing to accept; open it in your private database"
    )

    private static let invitedAlready = ServiceError(
        .participantAlreadyInvited,
        """
        you are invited to this share, which was opened for everybody meanwhile; ask its owner to \
        close it, so that you can accept the invitation, or to close and open it again, which \
        drops the invitation
        """
    )
}
