// Each difference between shares, and between subscriptions, is told.

import CumulusModel
import Testing

@testable import CumulusTransfer

@Suite struct ShareComparisonTests {
    private let wanted = SourceShare(
        root: "r",
        publicPermission: .readOnly,
        participants: [
            SourceShare.Participant(
                user: ServiceAnswer.bob,
                emailAddress: "bob@example.org",
                permission: .readWrite,
                hasAccepted: true
            ),
            SourceShare.Participant(emailAddress: " Eve@example.org", role: .administrator),
        ]
    )
    private let found = ShareDetails(
        root: "r",
        publicPermission: .readOnly,
        participants: [
            ShareDetails.Participant(
                user: "_bob",
                role: .privateUser,
                permission: .readWrite,
                status: .accepted
            ),
            ShareDetails.Participant(
                handle: ShareDetails.Participant.Handle(kind: 1, text: "eve@example.org"),
                role: .administrator,
                permission: .readOnly
            ),
        ]
    )

    private func texts(
        _ wanted: SourceShare,
        _ found: ShareDetails,
        seesAll: Bool = true
    ) -> [String] {
        ShareComparison.differences(wanted, found, seesAll: seesAll) {
            $0 == ServiceAnswer.bob ? "_bob" : $0
        }
    }

    @Test func equalSharesAreEqual() {
        #expect(texts(wanted, found).isEmpty)
    }

    @Test func eachDifferenceIsTold() {
        func expect(_ text: String, _ change: (inout ShareDetails) -> Void) {
            var other = found
            change(&other)
            #expect(texts(wanted, other) == [text])
        }
        expect("shares another record here") { $0.root = "" }
        expect("is open to others than at the source") { $0.publicPermission = .none }
        expect("gives '_bob' another permission here") { $0.participants[0].permission = .readOnly }
        expect("gives 'eve@example.org' another role here") {
            $0.participants[1].role = .privateUser
        }
        expect("lacks the participant 'eve@example.org' here") { $0.participants.removeLast() }
        expect("has the participant 'eve@example.org', who has accepted here") {
            $0.participants[1].status = .accepted
        }
        let third = ShareDetails.Participant(user: "_eve", status: .accepted)
        expect("has the participant '_eve', who is not at the source") {
            $0.participants.append(third)
        }
        var more = found
        more.participants.append(third)
        #expect(texts(wanted, more, seesAll: false).isEmpty)
        var unnamed = wanted
        unnamed.participants.append(SourceShare.Participant())
        #expect(texts(unnamed, found).count == 1)
    }

    @Test func thoseWhoCameByTheURLAreNotInvited() {
        var open = wanted
        open.participants.append(
            SourceShare.Participant(user: "_x", role: .publicUser, hasAccepted: true)
        )
        let invited = ShareComparison.invited(open, found, seesAll: true) {
            $0 == ServiceAnswer.bob ? "_bob" : $0
        }
        #expect(invited.isEmpty)
        #expect(texts(open, found) == ["lacks the participant '_x' here"])
    }

    // MARK: Subscriptions

    private func subscription(_ format: String) throws -> Subscription {
        Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: try Query.Predicate(format: format))
        )
    }

    private func isSame(
        _ one: Subscription,
        _ other: Subscription,
        in database: DatabaseScope = .private
    ) -> Bool {
        SubscriptionComparison.isSame(one, other, of: "_ada", in: database)
    }

    @Test func predicatesSayTheSameInOtherWords() throws {
        let one = try subscription("stars > 2 AND title == \"a\"")
        #expect(isSame(one, try subscription("title == \"a\" AND stars > 2.0")))
        #expect(
            isSame(
                try subscription("title IN {\"b\", \"a\"}"),
                try subscription("title IN {\"a\", \"b\"}")
            )
        )
        #expect(isSame(try subscription("title IN {\"a\"}"), try subscription("title == \"a\"")))
        #expect(!isSame(one, try subscription("stars > 3 AND title == \"a\"")))
        #expect(!isSame(one, try subscription("title == \"a\"")))
        #expect(!isSame(one, try subscription("NOT stars > 2 AND title == \"a\"")))
    }

    @Test func eachPartOfASubscriptionCounts() throws {
        let one = try subscription("stars > 2")
        var other = one
        other.options = [.firesOnRecordCreation]
        #expect(!isSame(one, other))
        other = one
        other.notificationInfo = Subscription.NotificationInfo()
        #expect(isSame(one, other))
        other.notificationInfo?.alertBody = "New"
        #expect(!isSame(one, other))
        let zone = RecordZone.ID(zoneName: "Trips")
        let own = RecordZone.ID(zoneName: "Trips", ownerName: "_ada")
        let ofZone = Subscription(id: "s", kind: .zone(zone))
        #expect(isSame(ofZone, Subscription(id: "s", kind: .zone(own))))
        #expect(!isSame(ofZone, Subscription(id: "s", kind: .database())))
        #expect(!isSame(ofZone, Subscription(id: "t", kind: .zone(zone))))
        let wide = Subscription(id: "s", kind: .query(recordType: "Note", predicate: .all))
        let narrow = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: .all, zone: .default)
        )
        #expect(!isSame(wide, narrow) && isSame(wide, narrow, in: .public))
    }
}
