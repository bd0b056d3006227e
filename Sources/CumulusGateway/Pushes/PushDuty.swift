// Decides whether this node pushes: one of the members does, and another one takes over within a
// second when that one is gone.
//
// Kept by `PushRunner`. It is synchronous and does no I/O. The member with the lowest id pushes. A
// member that comes back reads first what was marked without it: the others let it begin once they
// were connected with it for a while, and it begins a little later than they stop.

import CumulusModel
package import CumulusNode

package struct PushDuty: Sendable {
    /// How long a member has to be gone, in milliseconds: connections break for a moment, too.
    package static let grace: Int64 = 500
    /// How long a lower member is connected before this node leaves the pushes to it.
    package static let handover: Int64 = 4_000
    /// How long a node that comes waits before it begins, since its last new connection.
    package static let patience: Int64 = 5_000

    /// A run of another member.
    private struct Seen {
        var isLower: Bool
        var first: Int64
        var last: Int64
    }

    private var seen: [PushMembers.Peer: Seen] = [:]
    /// When the node last knew its members.
    private var known: Int64?
    /// When nobody was there to push any more, or this node came.
    private var waits: Int64?
    /// Whether the node that pushed is gone.
    private var takesOver = false
    package private(set) var isPushing = false

    package init() {}

    /// Whether this node pushes now.
    ///
    /// - Parameters:
    ///   - members: nil if the node can't say, as while it joins its cluster.
    ///   - now: Milliseconds of a clock that never goes back.
    package mutating func decide(_ members: PushMembers?, now: Int64) -> Bool {
        guard let members else {
            if let known, now - known < PushDuty.grace { return isPushing }
            self = PushDuty()
            return false
        }
        defer { known = now }
        if members.isAlone {
            self = PushDuty()
            isPushing = true
            return true
        }
        let isNews = note(members, now: now)
        if leaver(now: now) { takesOver = true }
        if isLed(now: now) {
            (isPushing, waits, takesOver) = (false, nil, false)
        } else if !isPushing {
            let start = waits ?? now
            waits = isNews && !takesOver ? now : start
            isPushing = takesOver || now - (waits ?? now) >= PushDuty.patience
        }
        return isPushing
    }

    /// Notes who is connected; returns whether somebody has come.
    private mutating func note(_ members: PushMembers, now: Int64) -> Bool {
        var isNews = false
        for (peers, isLower) in [(members.lower, true), (members.higher, false)] {
            for peer in peers {
                if seen[peer] == nil {
                    seen[peer] = Seen(isLower: isLower, first: now, last: now)
                    isNews = true
                }
                seen[peer]?.last = now
            }
        }
        return isNews
    }

    /// Forgets those who are gone; returns whether one of them may have pushed.
    private mutating func leaver(now: Int64) -> Bool {
        let gone = seen.filter { now - $0.value.last >= PushDuty.grace }
        for peer in gone.keys { seen[peer] = nil }
        return gone.values.contains {
            $0.isLower && $0.last - $0.first >= PushDuty.handover
        }
    }

    /// Whether a lower member pushes, as far as this node can know.
    private func isLed(now: Int64) -> Bool {
        seen.values.contains { $0.isLower && now - $0.first >= PushDuty.handover }
    }
}
