// The invariants of shares, at each changing step and when all nodes have heard everything.
//
// S3: the nodes agree on who is in. S4: a user who was removed or left is out, unless invited again
// since. S5: a user who is in accepted the invitation that counts. S6: a user who accepted the last
// invitation and was not removed is in. S7: of permissions that were set beside each other the
// least counts. S8: a visible root is the very life that was shared. S10: one share of a root
// counts. S13: a participant commits nothing at a node that has heard of the removal, and nothing
// that it may not see. S14: no node shares a zone that has a shared record there, or a record of a
// zone that is shared there; a zone without a shared record is not refused. S15 to S17 are of
// public shares, see `ShareSimulation+PublicChecks`.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    /// Checks the invariants of a step, at the node that it changed.
    mutating func check(_ one: Int) throws {
        let picture = try picture(at: one)
        for caller in devices.map(\.caller) {
            for tree in try view(of: caller, at: one)?.trees ?? [] {
                let root = ZonePicture.Root.record(tree.root, tree.birth)
                let isShown = picture?.records[tree.root]?.birth == tree.birth
                if sharedRoots.contains(root), isShown { continue }
                let text = "\(caller.letter) sees \(tree.root), of which this life was not shared"
                violate("S8", "\(text); \(picture?.text ?? "there is no zone")", at: one)
            }
        }
        // Nodes that shared them apart keep both.
        guard let picture, !picture.names(ofZoneShares: true).isEmpty,
            !picture.names(ofZoneShares: false).isEmpty
        else { return }
        verdict.counts["zone and record shared", default: 0] += 1
    }

    // MARK: Answers and commits

    /// - Parameter seen: The data that its caller may see by what the node had heard; nil for the
    ///   owner.
    mutating func check(
        _ answer: DrawnRequest.Answer,
        to caller: Caller,
        _ seen: Set<String>?,
        at one: Int
    ) {
        guard let seen, case .success(let outcome?) = answer else { return }
        for item in outcome.saves {
            guard case .failure(let failure) = item, let name = failure.serverRecord?.name,
                !seen.contains(name)
            else { continue }
            violate("S12", "\(caller.letter) is shown \(name) by a refused save", at: one)
        }
    }

    /// A zone can be shared unless the node has a shared record there.
    mutating func checkRefusal(
        _ answer: DrawnRequest.Answer,
        to asked: Asked,
        in picture: ZonePicture?,
        at one: Int
    ) {
        guard case .success(let outcome?) = answer,
            case .modifyRecords(let modify) = asked.request.change
        else { return }
        for (item, result) in zip(modify.saves, outcome.saves) {
            guard item.address.name == Names.zoneShare, case .failure(let failure) = result,
                failure.code == .alreadyShared
            else { continue }
            count("zones refused", at: one)
            if picture?.names(ofZoneShares: false).isEmpty == false { continue }
            let text = "\(asked.text), and is refused; \(picture?.text ?? "there is no zone")"
            violate("S14", text, at: one)
        }
    }

    /// Checks that a node which knows one kind of share makes none of the other kind.
    mutating func checkKinds(_ before: ZonePicture?, _ after: ZonePicture?, at one: Int) {
        guard let before, let after, before.number == after.number else { return }
        for share in after.shares.values where after.isInForce(share) {
            if before.shares[share.name]?.lives.isDisjoint(with: share.lives) == false { continue }
            let isOfZone = share.root == .zone
            let others = before.names(ofZoneShares: !isOfZone)
                .intersection(after.names(ofZoneShares: !isOfZone))
            if others.isEmpty { continue }
            violate("S14", "\(share.name) is made beside \(others); \(before.text)", at: one)
        }
    }

    /// Notes what a participant saved: its device may hold it.
    mutating func note(_ answer: DrawnRequest.Answer, to asked: Asked) {
        guard case .success(let outcome?) = answer,
            case .modifyRecords(let modify) = asked.request.change
        else { return }
        for (item, result) in zip(modify.saves, outcome.saves) {
            guard case .success = result else { continue }
            for index in devices.indices where devices[index].caller == asked.request.asker.caller {
                devices[index].saved.insert(item.address.name)
            }
        }
    }

    /// - Parameter seen: The data that its author may see by what the node had heard; nil for the
    ///   owner.
    mutating func checkCommit(
        _ dot: Dot,
        of asked: Asked,
        _ seen: Set<String>?,
        at one: Int
    ) throws {
        if case .acceptShare = asked.request.change { return }
        let store = stores[one]
        guard let seen, let bytes = try store.reader.get(.commit(store.scopeNumber(), dot)) else {
            return
        }
        if seen.isEmpty {
            violate("S13", "a commit of somebody who sees nothing: \(asked.text)", at: one)
        }
        for operation in try Commit(bytes).operations {
            let name: String
            switch operation {
            case .put(let put) where put.birth != nil: name = put.recordName
            case .delete(let deleted, _, _): name = deleted
            default: continue
            }
            if !seen.contains(name) {
                violate("S13", "\(asked.text): \(name) is nothing that it sees", at: one)
            }
        }
    }

    // MARK: The end

    /// Checks the invariants when each node has read all commits.
    mutating func check() throws {
        for one in stores.indices { try check(one) }
        for index in devices.indices {
            let one = Int.random(in: stores.indices, using: &dice)
            // The rest of a fetch, and then the changes since it began.
            for _ in 0..<2 { try fetchRecords(index, at: one, toEnd: true) }
            try fetchZones(index, at: one)
        }
        try checkEqual()
        guard let picture = try picture(at: 0) else { return }
        let heard = try stores[0].vector()
        var counting: [ZonePicture.Root: [String]] = [:]
        for share in picture.shares.values.sorted(by: { $0.name < $1.name }) {
            guard let root = share.root,
                let stored = try stores[0].reader.shareInForce(share.name, in: picture.number)
            else { continue }
            counting[root, default: []].append(share.name)
            for caller in devices.map(\.caller) {
                let permission = stored.entries.permission(of: caller.user) ?? .none
                if isPublic {
                    check(caller, permission, in: share, heard, picture)
                    continue
                }
                let standing = ledger.standing(of: caller.participant.wholeBytes, in: share, heard)
                check(caller, permission, standing, in: share, picture)
            }
        }
        for (root, names) in counting where names.count > 1 {
            violate("S10", "of \(root) all of \(names.sorted()) count; \(picture.text)", at: 0)
        }
    }

    private mutating func check(
        _ caller: Caller,
        _ permission: ShareParticipant.Permission,
        _ standing: ShareLedger.Standing,
        in share: ZonePicture.Share,
        _ picture: ZonePicture
    ) {
        let text = "\(caller.letter) in \(share.name), \(permission); \(standing); \(picture.text)"
        guard permission > .none else {
            if standing.isIn { violate("S6", "accepted, and is out: \(text)", at: 0) }
            return
        }
        verdict.counts["participants", default: 0] += 1
        if standing.invitation <= standing.gone {
            violate("S4", "removed or left, and is in: \(text)", at: 0)
        }
        if standing.accepted[standing.invitation] == nil {
            violate("S5", "never accepted, and is in: \(text)", at: 0)
        }
        if permission.rawValue > standing.permission {
            violate("S7", "may more than was left: \(text)", at: 0)
        }
    }

    private mutating func checkEqual() throws {
        let first = try picture(at: 0)
        for one in stores.indices.dropFirst() {
            let other = try picture(at: one)
            guard first?.zone == other?.zone, first?.records == other?.records,
                first?.shares == other?.shares
            else {
                let texts = [first, other].map { $0?.text ?? "no zone" }
                violate("S3", "node 0 holds \(texts[0]); this one \(texts[1])", at: one)
                continue
            }
            for caller in devices.map(\.caller) {
                let views = [try view(of: caller, at: 0), try view(of: caller, at: one)]
                guard views[0] != views[1] else { continue }
                let texts = views.map { $0.map { "\($0)" } ?? "nothing" }
                let text = "\(caller.letter) sees \(texts[1]), at node 0 \(texts[0])"
                violate("S3", "\(text); \(first?.text ?? "no zone")", at: one)
            }
        }
    }
}
