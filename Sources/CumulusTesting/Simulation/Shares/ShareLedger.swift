// The acts that decide who is in a share, in order, and the result that they must have on a node
// that has heard of some of them.
//
// Kept by `ShareSimulation` beside the nodes. It counts its own invitations, versions and public
// eras from what each node had heard, so that what stands in the nodes' rows can be held against
// it.

import CumulusModel

struct ShareLedger {
    enum Event {
        case invited(permission: UInt8)
        /// A user joined by the URL, which accepts at once.
        case joined(permission: UInt8, by: String)
        case set(permission: UInt8)
        /// Another role was given.
        case appointed
        case accepted(by: String)
        case removed
        case left
        // The permission of all who have the share's URL.
        case opened(permission: UInt8)
        case setPublic(permission: UInt8)
        case closed
    }

    /// The numbers of an event.
    fileprivate struct Numbers {
        var invitation = 0
        var version = 0
        var roleVersion = 0
        var era = 0
        var publicVersion = 0
    }

    private struct Entry {
        let share: String
        /// The lives of the share's record, as its node saw them.
        let lives: Set<Dot>
        /// A participant, by 17 bytes; empty: the public.
        let who: Bytes
        let event: Event
        let numbers: Numbers
        /// The commit.
        let dot: Dot
    }

    /// How somebody stands in a share.
    struct Standing {
        /// The last one.
        fileprivate(set) var invitation = 0
        /// The last one that was taken away or given back.
        fileprivate(set) var gone = 0
        /// The users who accepted, by invitation.
        fileprivate(set) var accepted: [Int: Set<String>] = [:]
        /// The version of the last invitation.
        fileprivate(set) var version = 0
        /// The least of that version.
        fileprivate(set) var permission: UInt8 = .max
        fileprivate var roleVersion = 0
        /// The public eras in which the last invitation was made by joining; empty: it was made by
        /// others.
        fileprivate var eras: Set<Int> = []
        /// The last public era in which something was taken away.
        fileprivate var removedEra = 0

        fileprivate var isInvited: Bool { invitation > gone }
        /// Unless it joined by the URL.
        var isIn: Bool { isInvited && accepted[invitation] != nil }
    }

    /// What all who have the URL may do.
    fileprivate struct PublicStanding {
        var era = 0
        var version = 0
        /// The least of that version.
        var permission: UInt8 = .max
        var closed = 0

        var open: UInt8 { era > closed ? permission : 0 }
    }

    private var entries: [Entry] = []

    /// - Parameter heard: The events that the asking node has heard of.
    func standing(
        of who: Bytes,
        in share: ZonePicture.Share,
        _ heard: VersionVector
    ) -> Standing {
        standings(in: share, heard).participants[who] ?? Standing()
    }

    /// Whether a user can be in a share, by what a node has heard.
    func isIn(_ share: ZonePicture.Share, _ user: String, _ heard: VersionVector) -> Bool {
        let (open, participants) = standings(in: share, heard)
        return participants.values.contains { $0.canBeIn(user, open) }
    }

    /// The most that a user can be allowed in a share by what a node has heard, and whether it has
    /// to be in.
    ///
    /// If a user joined in two eras, on two nodes that did not know of each other, one counts.
    func permission(
        of user: String,
        in share: ZonePicture.Share,
        _ heard: VersionVector
    ) -> (most: UInt8, isCertain: Bool) {
        let (open, participants) = standings(in: share, heard)
        var (most, isCertain): (UInt8, Bool) = (0, false)
        for standing in participants.values where standing.canBeIn(user, open) {
            let permission = standing.eras.isEmpty ? standing.permission : open.open
            most = max(most, permission)
            if permission > 0, standing.isUndisputed { isCertain = true }
        }
        return (most, isCertain)
    }

    private func standings(
        in share: ZonePicture.Share,
        _ heard: VersionVector
    ) -> (open: PublicStanding, participants: [Bytes: Standing]) {
        var open = PublicStanding()
        var participants: [Bytes: Standing] = [:]
        for entry in entries where entry.share == share.name && heard.covers(entry.dot) {
            if entry.lives.isDisjoint(with: share.lives) { continue }
            if entry.who.isEmpty {
                open.take(entry.event, entry.numbers)
            } else {
                participants[entry.who, default: Standing()].take(entry.event, entry.numbers)
            }
        }
        return (open, participants)
    }

    /// Notes what a commit did.
    ///
    /// - Parameters:
    ///   - who: A participant; empty: the public.
    ///   - before: The share as it stood before, with its lives; nil: there was none.
    ///   - share: The share as it stands now.
    ///   - heard: The events that the node had heard of before.
    mutating func note(
        _ event: Event,
        of who: Bytes,
        _ before: ZonePicture.Share?,
        _ share: ZonePicture.Share,
        _ heard: VersionVector,
        by dot: Dot
    ) {
        let (open, participants) =
            before.map { standings(in: $0, heard) } ?? (PublicStanding(), [:])
        let known = participants[who] ?? Standing()
        var numbers = Numbers(
            invitation: known.invitation,
            version: known.version,
            roleVersion: known.roleVersion,
            era: open.era,
            publicVersion: open.version
        )
        switch event {
        case .invited, .joined:
            numbers.invitation = max(known.invitation, known.gone) + 1
            (numbers.version, numbers.roleVersion) = (1, 1)
        case .set: numbers.version += 1
        case .appointed: numbers.roleVersion += 1
        case .opened: (numbers.era, numbers.publicVersion) = (max(open.era, open.closed) + 1, 1)
        case .setPublic: numbers.publicVersion += 1
        case .accepted, .removed, .left, .closed: break
        }
        entries.append(
            Entry(
                share: share.name,
                lives: share.lives,
                who: who,
                event: event,
                numbers: numbers,
                dot: dot
            )
        )
    }
}

extension ShareLedger.Standing {
    /// Whether the user can be the one who is in.
    fileprivate func canBeIn(_ user: String, _ open: ShareLedger.PublicStanding) -> Bool {
        guard isInvited, accepted[invitation]?.contains(user) == true else { return false }
        return eras.isEmpty
            || open.open > 0 && eras.contains(open.era) && removedEra != open.era
    }

    /// Whether nothing was done beside each other that leaves open who is in.
    fileprivate var isUndisputed: Bool {
        eras.count < 2 && accepted[invitation]?.count == 1 && accepted.keys.max() == invitation
    }

    fileprivate mutating func take(_ event: ShareLedger.Event, _ numbers: ShareLedger.Numbers) {
        switch event {
        case .accepted(let user): accepted[numbers.invitation, default: []].insert(user)
        case .removed:
            gone = max(gone, numbers.invitation)
            removedEra = max(removedEra, numbers.era)
        case .left: gone = max(gone, numbers.invitation)
        case .invited(let permission), .joined(let permission, _), .set(let permission):
            if case .joined(_, let user) = event {
                accepted[numbers.invitation, default: []].insert(user)
            }
            begin(numbers.invitation)
            guard numbers.invitation == invitation else { return }
            if numbers.version > version { (version, self.permission) = (numbers.version, .max) }
            if numbers.version == version { self.permission = min(self.permission, permission) }
            if case .set = event { return }
            takeRole(event, numbers)
        case .appointed:
            begin(numbers.invitation)
            guard numbers.invitation == invitation else { return }
            takeRole(event, numbers)
        case .opened, .setPublic, .closed: break
        }
    }

    /// A later invitation takes the place of the others.
    private mutating func begin(_ number: Int) {
        guard number > invitation else { return }
        (invitation, version, permission) = (number, 0, .max)
        (roleVersion, eras) = (0, [])
    }

    /// If two roles of a public user were given concurrently, one wins.
    private mutating func takeRole(_ event: ShareLedger.Event, _ numbers: ShareLedger.Numbers) {
        if numbers.roleVersion > roleVersion { (roleVersion, eras) = (numbers.roleVersion, []) }
        guard numbers.roleVersion == roleVersion, case .joined = event else { return }
        eras.insert(numbers.era)
    }
}

extension ShareLedger.PublicStanding {
    fileprivate mutating func take(_ event: ShareLedger.Event, _ numbers: ShareLedger.Numbers) {
        switch event {
        case .closed: closed = max(closed, numbers.era)
        case .opened(let new), .setPublic(let new):
            if (numbers.era, numbers.publicVersion) > (era, version) {
                (era, version, permission) = (numbers.era, numbers.publicVersion, .max)
            }
            if (numbers.era, numbers.publicVersion) == (era, version) {
                permission = min(permission, new)
            }
        default: break
        }
    }
}
