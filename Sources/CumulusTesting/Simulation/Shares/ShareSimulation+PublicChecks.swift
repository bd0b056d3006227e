// The invariants of histories of public shares, besides the invariants of all.
//
// `ShareSimulation` calls it for each request, and for each share that a user is shown. S15: a
// participant changes only records that it may write. S16: while a share is open no user is invited
// to it, no invited user is removed, and no pending invitation is accepted; opening a share drops
// pending invitations; a save removes only users whom its author is shown. S17: the metadata of a
// share goes to users whom it lets in; a user who joined by the URL is told of no other
// participant; a look-up by handle names only users who are discoverable.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    /// How a share lets a user in.
    enum Entrance {
        case inside
        /// By an invitation that is not accepted yet.
        case invited
        /// By the URL.
        case open
        case closed
    }

    func entrance(
        to share: ZonePicture.Share,
        for user: String,
        at one: Int
    ) throws -> Entrance {
        if share.permission(of: user) > 0 { return .inside }
        for member in share.members.values where member.isInvited && !member.hasAccepted {
            let handle = try? Handle(.email, Bytes(member.name.utf8))
            let invited = try handle.map { try holder(of: $0, at: one) } ?? member.name
            if invited == user { return .invited }
        }
        let known = share.members[ParticipantID(user: user).wholeBytes]
        let isRemoved = known.map { $0.removedEra == share.publicEra } ?? false
        return share.open > .none && !isRemoved ? .open : .closed
    }

    // MARK: Requests

    /// - Parameter picture: From before the request.
    mutating func checkAcceptance(
        _ answer: DrawnRequest.Answer,
        to asked: Asked,
        in picture: ZonePicture?,
        at one: Int
    ) throws {
        guard case .acceptShare(let accept) = asked.request.change, let picture,
            let share = picture.shares.values.first(where: {
                picture.isInForce($0) && picture.id(of: $0) == accept.share
            })
        else { return }
        var isDone = false
        if case .success = answer { isDone = true }
        let entrance = try entrance(to: share, for: asked.request.asker.caller.user, at: one)
        let isWaiting = entrance == .invited && share.open > .none
        count("URLs: \(entrance), \(isDone ? "done" : "refused")", asked.text, at: one)
        if isDone == (entrance != .closed && !isWaiting) { return }
        let what = isDone ? "is let in" : "is refused"
        let rule = isWaiting ? "S16" : isDone ? "S4" : "S6"
        violate(rule, "\(asked.text), and \(what); \(picture.text)", at: one)
    }

    /// A participant changes only what it may write, by what its node had heard.
    mutating func checkWrites(
        _ dot: Dot,
        of asked: Asked,
        in picture: ZonePicture?,
        _ heard: VersionVector,
        at one: Int
    ) throws {
        let (caller, store) = (asked.request.asker.caller, stores[one])
        guard caller != Self.owner, let picture,
            let bytes = try store.reader.get(.commit(store.scopeNumber(), dot))
        else { return }
        let writable = picture.readable {
            ledger.permission(of: caller.user, in: $0, heard).most >= 2
        }
        for operation in try Commit(bytes).operations {
            let name: String
            switch operation {
            case .put(let put):
                // A record that is made is written where it hangs.
                guard let above = put.birth == nil ? put.parent?.recordName : put.recordName,
                    put.birth != nil || above != put.recordName
                else { continue }
                name = above
            case .delete(let deleted, _, _): name = deleted
            default: continue
            }
            // Administrators change shares; in a shared zone a record may hang below nothing, or
            // below itself.
            if name.isEmpty || writable.contains(name) || picture.shares[name] != nil { continue }
            violate("S15", "\(asked.text): \(name) is nothing that it may write", at: one)
        }
    }

    /// Checks invitations and removals in a commit that opens a share, or leaves it open.
    mutating func checkOpening(_ before: ZonePicture?, _ after: ZonePicture?, at one: Int) {
        for share in (after?.shares ?? [:]).values.sorted(by: { $0.name < $1.name }) {
            guard let old = before?.shares[share.name], !old.lives.isDisjoint(with: share.lives)
            else { continue }
            let (wasOpen, isOpen) = (old.open > .none, share.open > .none)
            if wasOpen != isOpen { count(isOpen ? "openings" : "closings", share.name, at: one) }
            for (who, member) in share.members {
                guard let known = old.members[who], member.removed > known.removed,
                    !old.isListed(known)
                else { continue }
                let text = "\(member.name) is removed, and was in no list"
                violate("S16", "\(text): \(after?.text ?? "")", at: one)
            }
            guard isOpen else { continue }
            for (who, member) in share.members where !member.isPublic {
                let known = old.members[who] ?? ZonePicture.Member()
                let isPending = member.isInvited && !member.hasAccepted
                let what: String
                if !wasOpen, isPending {
                    what = "is invited to a share that was opened"
                } else if wasOpen, member.invitation > known.invitation {
                    what = "is invited to an open share"
                } else if wasOpen, member.removed > known.removed {
                    what = "is removed from an open share"
                } else {
                    continue
                }
                violate("S16", "\(member.name) \(what): \(after?.text ?? "")", at: one)
            }
        }
    }

    // MARK: What is told

    /// Checks that a shown share names the participants that its reader may know.
    mutating func checkTold(
        _ record: RecordView,
        to caller: Caller,
        _ picture: ZonePicture?,
        at one: Int
    ) {
        guard isPublic, let sharing = record.sharing, let share = picture?.shares[record.name]
        else { return }
        let told = Set(sharing.details.participants.map(\.id))
        let expected = share.participants(toldTo: caller)
        count("participants told", "\(told.count) to \(caller.letter)", at: one)
        if told == expected { return }
        let text = "\(caller.letter) is told of \(told.count) participants of \(share.name)"
        violate("S17", "\(text), not \(expected.count); \(picture?.text ?? "")", at: one)
    }

    // MARK: The end

    /// Checks who is in the share when all nodes have heard everything: the users who joined in the
    /// present era, and invited users who accepted.
    mutating func check(
        _ caller: Caller,
        _ permission: ShareParticipant.Permission,
        in share: ZonePicture.Share,
        _ heard: VersionVector,
        _ picture: ZonePicture
    ) {
        let (most, isCertain) = ledger.permission(of: caller.user, in: share, heard)
        let text = "\(caller.letter) in \(share.name), \(permission), at most \(most)"
        guard permission > .none else {
            if isCertain { violate("S6", "joined, and is out: \(text); \(picture.text)", at: 0) }
            return
        }
        verdict.counts["participants", default: 0] += 1
        let member = share.members[caller.participant.wholeBytes]
        if member?.isPublic == true { verdict.counts["joined", default: 0] += 1 }
        if most == 0 {
            violate("S4", "removed, left or closed out, and is in: \(text); \(picture.text)", at: 0)
        } else if permission.rawValue > most {
            violate("S7", "may more than was left: \(text); \(picture.text)", at: 0)
        }
    }
}

extension ZonePicture.Share {
    /// The participants that a user is told: only itself if it joined by the URL; unanswered
    /// invitations only if it may invite.
    fileprivate func participants(toldTo caller: Caller) -> Set<Bytes> {
        let present = members.filter { isListed($0.value) }
        let own = present.filter { who, member in
            member.hasAccepted
                ? member.user == caller.user : who == caller.participant.wholeBytes
        }
        let administrator = ShareParticipant.Role.administrator.rawValue
        let mayInvite = own.contains { $0.value.hasAccepted && $0.value.role == administrator }
        let seesMembers = own.contains { !$0.value.isPublic }
        let told = present.filter { who, member in
            own[who] != nil || (member.hasAccepted ? seesMembers : mayInvite)
        }
        return Set(told.keys)
    }
}
