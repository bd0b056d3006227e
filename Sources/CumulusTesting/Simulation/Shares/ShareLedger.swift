// What was done about who is in a share, in the order in which it was done, and what has to come of
// that on a node that has heard of some of it.
//
// Kept by `ShareSimulation` beside the nodes. It counts invitations and versions of its own from
// what each node had heard, so that what stands in the nodes' rows can be held against it.

import CumulusModel

struct ShareLedger {
    enum Event {
        case invited(permission: UInt8)
        case set(permission: UInt8)
        case accepted
        case removed
        case left
    }

    private struct Entry {
        let share: String
        /// Of the share's record, as its node saw them.
        let lives: Set<Dot>
        /// A participant, by 17 bytes.
        let who: Bytes
        let event: Event
        let invitation: Int
        let version: Int
        /// The commit.
        let dot: Dot
    }

    /// How somebody stands in a share.
    struct Standing {
        /// The last one.
        fileprivate(set) var invitation = 0
        /// The last one that was taken away or given back.
        fileprivate(set) var gone = 0
        fileprivate(set) var accepted: Set<Int> = []
        /// Of the last invitation.
        fileprivate(set) var version = 0
        /// The least of that version.
        fileprivate(set) var permission: UInt8 = .max

        var isIn: Bool { invitation > gone && accepted.contains(invitation) }
    }

    private var entries: [Entry] = []

    /// - Parameter heard: Of the node that asks.
    func standing(
        of who: Bytes,
        in share: ZonePicture.Share,
        _ heard: VersionVector
    ) -> Standing {
        var standing = Standing()
        for entry in entries where entry.share == share.name && entry.who == who {
            guard heard.covers(entry.dot), !entry.lives.isDisjoint(with: share.lives) else {
                continue
            }
            standing.take(entry.event, entry.invitation, entry.version)
        }
        return standing
    }

    /// Whether a user is in a share, by what a node has heard.
    func isIn(_ share: ZonePicture.Share, _ user: Bytes, _ heard: VersionVector) -> Bool {
        standing(of: user, in: share, heard).isIn
    }

    /// Notes what a commit did.
    ///
    /// - Parameters:
    ///   - before: The share as it stood before, with its lives; nil: there was none.
    ///   - share: The share as it stands now.
    ///   - heard: What the node had heard before.
    mutating func note(
        _ event: Event,
        of who: Bytes,
        _ before: ZonePicture.Share?,
        _ share: ZonePicture.Share,
        _ heard: VersionVector,
        by dot: Dot
    ) {
        let known = before.map { standing(of: who, in: $0, heard) } ?? Standing()
        var (invitation, version) = (known.invitation, known.version)
        switch event {
        case .invited: (invitation, version) = (max(invitation, known.gone) + 1, 1)
        case .set: version += 1
        case .accepted, .removed, .left: break
        }
        entries.append(
            Entry(
                share: share.name,
                lives: share.lives,
                who: who,
                event: event,
                invitation: invitation,
                version: version,
                dot: dot
            )
        )
    }
}

extension ShareLedger.Standing {
    fileprivate mutating func take(
        _ event: ShareLedger.Event,
        _ number: Int,
        _ newVersion: Int
    ) {
        switch event {
        case .accepted: accepted.insert(number)
        case .removed, .left: gone = max(gone, number)
        case .invited(let permission), .set(let permission):
            if (number, newVersion) > (invitation, version) {
                self.permission = .max
                (invitation, version) = (number, newVersion)
            }
            if (number, newVersion) == (invitation, version) {
                self.permission = min(self.permission, permission)
            }
        }
    }
}
