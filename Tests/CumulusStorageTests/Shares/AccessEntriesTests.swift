// Access entries: what they say, how changes raise their numbers, and that the order in which two
// nodes' changes come together makes no difference.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AccessEntriesTests {
    private static let ann = AccessEntries.ParticipantID(user: "_ann")

    private static func joined(_ parts: [AccessEntries.Entry]...) -> AccessEntries {
        parts.reduce(into: AccessEntries()) { $0.join($1) }
    }

    /// The entries with a change of them.
    private static func with(
        _ entries: AccessEntries,
        _ change: (AccessEntries) throws -> [AccessEntries.Entry]
    ) rethrows -> AccessEntries {
        var changed = entries
        changed.join(try change(entries))
        return changed
    }

    private static func invited(
        _ permission: ShareParticipant.Permission = .readOnly
    ) -> AccessEntries {
        joined(
            AccessEntries.root(.zone),
            AccessEntries().inviting(ann, named: "_ann", as: .privateUser, permission, now: 1)
        )
    }

    private static func accepted(
        _ permission: ShareParticipant.Permission = .readOnly
    ) throws -> AccessEntries {
        try with(invited(permission)) {
            $0.accepting(try #require($0.participant(ann)), by: "_ann")
        }
    }

    // MARK: What they say

    @Test func anInvitationIsPendingUntilItIsAccepted() throws {
        let invited = Self.invited()
        #expect(invited.participant(Self.ann)?.status == .pending)
        #expect(invited.permission(of: "_ann") == nil)
        let accepted = try Self.accepted()
        #expect(accepted.participant(Self.ann)?.status == .accepted)
        #expect(accepted.permission(of: "_ann") == .readOnly)
        #expect(accepted.permission(of: "_bob") == nil)
        #expect(accepted.root == .zone && accepted.users == ["_ann"])
        #expect(accepted.participants.map(\.name) == ["_ann"])
    }

    @Test func whoeverLeftOrWasRemovedIsOutUntilInvitedAgain() throws {
        let accepted = try Self.accepted()
        let ann = try #require(accepted.participant(Self.ann))
        for out in [accepted.removing(ann), accepted.leaving(ann)] {
            let gone = Self.with(accepted) { _ in out }
            #expect(gone.permission(of: "_ann") == nil)
            #expect(gone.participant(Self.ann)?.status == .removed)
            // The old acceptance is of the old invitation.
            let again = Self.with(gone) {
                $0.inviting(Self.ann, named: "_ann", as: .privateUser, .readWrite, now: 2)
            }
            #expect(again.participant(Self.ann)?.status == .pending)
            let back = try Self.with(again) {
                $0.accepting(try #require($0.participant(Self.ann)), by: "_ann")
            }
            #expect(back.permission(of: "_ann") == .readWrite)
        }
    }

    @Test func aHandleIsClaimedByTheUserWhoAccepts() throws {
        let handle = try Handle(.email, Bytes("ann@example.org".utf8))
        let id = AccessEntries.ParticipantID(handle)
        let invited = Self.joined(
            AccessEntries().inviting(id, named: handle.text, as: .administrator, .readWrite, now: 1)
        )
        let accepted = try Self.with(invited) {
            $0.accepting(try #require($0.participant(id)), by: "_ann")
        }
        #expect(accepted.permission(of: "_ann") == .readWrite)
        #expect(accepted.isAdministrator("_ann") && !accepted.isAdministrator("_bob"))
        #expect(accepted.participant(id)?.name == "ann@example.org")
    }

    @Test func anOpenShareLetsInWhoJoinsUntilItIsClosed() {
        let open = Self.joined(AccessEntries().settingPublic(.readOnly))
        let joined = Self.with(open) { $0.joining("_ann", now: 1) }
        #expect(joined.permission(of: "_ann") == .readOnly)
        // What the public may, joiners may.
        let raised = Self.with(joined) { $0.settingPublic(.readWrite) }
        #expect(raised.permission(of: "_ann") == .readWrite)
        let closed = Self.with(raised) { $0.settingPublic(.none) }
        #expect(closed.permission(of: "_ann") == nil && closed.publicPermission == .none)
        // Another era begins, and users of the last one are not in.
        let opened = Self.with(closed) { $0.settingPublic(.readOnly) }
        #expect(opened.publicPermission == .readOnly && opened.permission(of: "_ann") == nil)
        let back = Self.with(opened) { $0.joining("_ann", now: 2) }
        #expect(back.permission(of: "_ann") == .readOnly)
    }

    @Test func aRemovedJoinerDoesNotJoinAgainInThatEra() throws {
        let open = Self.joined(AccessEntries().settingPublic(.readOnly))
        let joined = Self.with(open) { $0.joining("_ann", now: 1) }
        let removed = try Self.with(joined) {
            $0.removing(try #require($0.participant(Self.ann)))
        }
        let again = Self.with(removed) { $0.joining("_ann", now: 2) }
        #expect(again.permission(of: "_ann") == nil)
    }

    // MARK: What two nodes write at once

    /// Another node, which has not heard of this era, removes a later invitation.
    @Test func aRemovalCountsInItsEraWhateverIsRemovedElsewhere() throws {
        let open = Self.joined(AccessEntries().settingPublic(.readOnly))
        let once = Self.with(open) { $0.joining("_ann", now: 1) }
        let twice = Self.with(once) { $0.joining("_ann", now: 2) }
        let old = twice.removing(try #require(twice.participant(Self.ann)))
        let closed = Self.with(once) { $0.settingPublic(.none) }
        let opened = Self.with(closed) { $0.settingPublic(.readOnly) }
        let removed = try Self.with(opened) {
            $0.removing(try #require($0.participant(Self.ann)))
        }
        let both = Self.with(removed) { _ in old }
        let again = Self.with(both) { $0.joining("_ann", now: 3) }
        #expect(again.permission(of: "_ann") == nil)
    }

    /// The node that raised the permission did not know of the removal, whatever its clock says.
    @Test func aRemovalBeatsWhatIsWrittenAtTheSameTime() throws {
        let accepted = try Self.accepted()
        let ann = try #require(accepted.participant(Self.ann))
        let both = Self.joined(
            accepted.entries,
            accepted.setting(.readWrite, of: ann),
            accepted.removing(ann)
        )
        #expect(both.permission(of: "_ann") == nil)
    }

    @Test func ofTwoPermissionsTheLesserOneStands() throws {
        let accepted = try Self.accepted(.readWrite)
        let ann = try #require(accepted.participant(Self.ann))
        let both = Self.joined(
            accepted.entries,
            accepted.setting(.readWrite, of: ann),
            accepted.setting(.readOnly, of: ann)
        )
        #expect(both.permission(of: "_ann") == .readOnly)
        // A later version beats it.
        let later = try Self.with(both) {
            $0.setting(.readWrite, of: try #require($0.participant(Self.ann)))
        }
        #expect(later.permission(of: "_ann") == .readWrite)
    }

    /// An answer counts for the invitation that it answered.
    @Test func anAnswerToAnOldInvitationOpensNothing() throws {
        let invited = Self.invited()
        let first = try #require(invited.participant(Self.ann))
        let second = Self.joined(
            invited.entries,
            invited.removing(first),
            Self.joined(invited.entries, invited.removing(first))
                .inviting(Self.ann, named: "_ann", as: .privateUser, .readWrite, now: 2)
        )
        let late = Self.with(second) { _ in invited.accepting(first, by: "_ann") }
        #expect(late.permission(of: "_ann") == nil)
        #expect(late.participant(Self.ann)?.status == .pending)
    }

    @Test func leavingBeatsAcceptingAtTheSameTime() throws {
        let invited = Self.invited()
        let ann = try #require(invited.participant(Self.ann))
        let both = Self.joined(
            invited.entries,
            invited.accepting(ann, by: "_ann"),
            invited.leaving(ann)
        )
        #expect(both.permission(of: "_ann") == nil)
    }

    @Test func twoWhoInviteTheSamePersonWriteTheSameKeys() {
        let one = AccessEntries().inviting(
            Self.ann,
            named: "_ann",
            as: .privateUser,
            .readWrite,
            now: 1
        )
        let other = AccessEntries().inviting(
            Self.ann,
            named: "_ann",
            as: .administrator,
            .readOnly,
            now: 2
        )
        let both = Self.joined(one, other)
        #expect(both.participants.count == 1)
        #expect(both.participant(Self.ann)?.role == .privateUser)
        #expect(both.participant(Self.ann)?.permission == .readOnly)
    }

    // MARK: Order and bytes

    /// Random changes, each made from what some node knew.
    private static func changes(using dice: inout SeededGenerator) -> [[AccessEntries.Entry]] {
        let users = ["_ann", "_bob", "_eve"]
        var known = joined(AccessEntries.root(.record(name: "r", birth: Dot(Incarnation(1), 2))))
        var changes = [known.entries]
        for step in 0..<12 {
            let user = users.randomElement(using: &dice) ?? ""
            let id = AccessEntries.ParticipantID(user: user)
            let permission = ShareParticipant.Permission.allCases.randomElement(using: &dice)
            var change = known.inviting(
                id,
                named: user,
                as: .privateUser,
                permission ?? .none,
                now: Int64(step)
            )
            if let participant = known.participant(id) {
                switch Int.random(in: 0..<6, using: &dice) {
                case 0: change = known.accepting(participant, by: user)
                case 1: change = known.removing(participant)
                case 2: change = known.leaving(participant)
                case 3: change = known.setting(permission ?? .none, of: participant)
                case 4: change = known.settingPublic(permission ?? .none)
                default: change = known.joining(user, now: Int64(step))
                }
            }
            changes.append(change)
            // Not every node hears of it at once.
            if Bool.random(using: &dice) { known.join(change) }
        }
        return changes
    }

    @Test(arguments: UInt64(1)...20)
    func orderAndRepetitionMakeNoDifference(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let changes = Self.changes(using: &dice)
        let whole = changes.reduce(into: AccessEntries()) { $0.join($1) }
        for _ in 0..<10 {
            let shuffled = (changes + changes.prefix(4)).shuffled(using: &dice)
            let cut = Int.random(in: 0...shuffled.count, using: &dice)
            var one = shuffled[..<cut].reduce(into: AccessEntries()) { $0.join($1) }
            let other = shuffled[cut...].reduce(into: AccessEntries()) { $0.join($1) }
            one.join(other)
            #expect(one == whole)
        }
        var writer = CanonicalWriter()
        whole.write(to: &writer)
        var reader = CanonicalReader(writer.bytes)
        #expect(try AccessEntries(reading: &reader) == whole && reader.isAtEnd)
    }

    @Test(arguments: UInt64(1)...4)
    func damageIsRefusedOrReadsIdentically(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let whole = Self.changes(using: &dice).reduce(into: AccessEntries()) { $0.join($1) }
        var writer = CanonicalWriter()
        whole.write(to: &writer)
        var damaged = Damage.truncations(of: writer.bytes)
        for _ in 0..<300 { damaged.append(Damage.mutation(of: writer.bytes, using: &dice)) }
        for bytes in damaged {
            var reader = CanonicalReader(bytes)
            guard let read = try? AccessEntries(reading: &reader), reader.isAtEnd else { continue }
            // Whatever was let in can be asked everything.
            _ = (read.participants, read.publicPermission, read.root, read.users)
            var again = CanonicalReader(bytes)
            #expect(try AccessEntries(reading: &again) == read)
        }
    }

    // MARK: URLs

    @Test func aURLIsTwentyTwoCharactersThatComeBack() throws {
        var dice = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            let bytes = Bytes((0..<16).map { _ in UInt8.random(in: 0...255, using: &dice) })
            let url = try #require(ShareURL(bytes: bytes))
            #expect(url.text.utf8.count == 22)
            #expect(ShareURL(text: "https://share.example.org/share/\(url.text)#Title") == url)
            #expect(ShareURL(text: url.text) == url)
        }
        #expect(ShareURL(bytes: [1]) == nil)
        for wrong in ["", "AAAA", String(repeating: "A", count: 23), "AAAAAAAAAAAAAAAAAAAAA!"] {
            #expect(ShareURL(text: wrong) == nil)
        }
        // The last character has four bits that mean nothing.
        #expect(ShareURL(text: String(repeating: "A", count: 21) + "B") == nil)
    }
}
