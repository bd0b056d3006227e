// Profiles, handles and looking others up, by the client library at a node.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct PeopleTests {
    private func code(of body: () async throws -> Void) async -> ServiceError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test func usersFindEachOtherByHandles() async throws {
        let server = try await TestServer()
        let admin = server.nodeOperator()
        let ada = try await server.container(user: "ada")
        let bob = try await server.container(user: "bob")
        #expect(try await ada.userProfile() == UserProfile())
        let profile = UserProfile(displayName: "Ada L.", isDiscoverable: true)
        try await ada.setUserProfile(profile)
        #expect(try await ada.userProfile() == profile)
        let address = UserIdentity.LookupInfo.emailAddress("\u{FF21}DA@example.org")
        let number = UserIdentity.LookupInfo.phoneNumber("+49 (30) 1234-5678")
        for handle in [address, number] {
            let given = try await admin.setHandle(handle, of: "ada", isHeld: true)
            #expect(!given.existed && !given.isMoved)
        }
        let known = try await admin.profile(of: "ada")
        #expect(known.profile == profile)
        #expect(
            known.handles.map(\.handle) == [
                .emailAddress("ada@example.org"), .phoneNumber("+493012345678"),
            ]
        )
        #expect(known.handles.map(\.verifiedBy) == ["operator", "operator"])

        let found = try #require(try await bob.userIdentity(forEmailAddress: "Ada@Example.org"))
        #expect(found.displayName == "Ada L.")
        #expect(try await found.userRecordID == ada.userRecordID())
        #expect(found.lookupInfo == .emailAddress("Ada@Example.org"))
        let called = try await bob.userIdentity(forPhoneNumber: "+49 30 12345678")
        #expect(called?.userRecordID == found.userRecordID)
        #expect(try await bob.userIdentity(forEmailAddress: "\u{430}da@example.org") == nil)
        #expect(try await bob.userIdentity(forPhoneNumber: "+4930123456") == nil)
        // Each under the text that was asked for, and in as many calls as it takes.
        let many = (0..<250).map { "nobody\($0)@example.org" } + ["ADA@example.org"]
        let all = try await bob.userIdentities(forEmailAddresses: many)
        #expect(all.mapValues(\.userRecordID) == ["ADA@example.org": found.userRecordID])

        #expect(
            await code { _ = try await bob.userIdentity(forEmailAddress: "ada") }
                == .invalidArguments
        )
        #expect(
            await code { _ = try await bob.userIdentity(forPhoneNumber: "030") }
                == .invalidArguments
        )
        let nobody = server.container()
        #expect(
            await code { _ = try await nobody.userIdentity(forEmailAddress: "ada@example.org") }
                == .notAuthenticated
        )
        #expect(try await admin.setHandle(address, of: "bob", isHeld: true).isMoved)
        #expect(try await bob.userIdentity(forEmailAddress: "ada@example.org") == nil)
        for container in [ada, bob, nobody] { await container.close() }
        await admin.close()
        try await server.stop()
    }

    @Test func usersFindEachOtherByTheirRecords() async throws {
        let server = try await TestServer()
        let admin = server.nodeOperator()
        let ada = try await server.container(user: "ada")
        let bob = try await server.container(user: "bob")
        let (adas, bobs) = (try await ada.userRecordID(), try await bob.userRecordID())
        #expect(try await bob.userIdentity(forUserRecordID: adas) == nil)
        try await ada.setUserProfile(UserProfile(displayName: "Ada L.", isDiscoverable: true))
        let found = try #require(try await bob.userIdentity(forUserRecordID: adas))
        #expect(found.userRecordID == adas && found.displayName == "Ada L.")
        #expect(found.lookupInfo == .userRecordID(adas))
        // This takes several calls. Unknown users are left out.
        let many = (0..<250).map { Record.ID(recordName: "nobody\($0)") } + [bobs, adas]
        let all = try await bob.userIdentities(forUserRecordIDs: many)
        #expect(all.mapValues(\.displayName) == [adas: "Ada L."])
        _ = try await admin.setState(of: "ada", isDisabled: true)
        #expect(try await bob.userIdentity(forUserRecordID: adas) == nil)
        let nobody = server.container()
        #expect(
            await code { _ = try await nobody.userIdentity(forUserRecordID: adas) }
                == .notAuthenticated
        )
        #expect(
            await code {
                _ = try await admin.setHandle(.userRecordID(bobs), of: "bob", isHeld: true)
            } == .invalidArguments
        )
        let invited = Share.Participant(lookupInfo: .userRecordID(bobs))
        #expect(invited.userRecordID == bobs && invited.lookupInfo == nil)
        for container in [ada, bob, nobody] { await container.close() }
        await admin.close()
        try await server.stop()
    }

    @Test func anAccountIsThereUntilItsTokenEnds() async throws {
        let server = try await TestServer()
        let ada = try await server.container(user: "ada")
        #expect(await ada.accountStatus() == .available)
        let nobody = server.container()
        #expect(await nobody.accountStatus() == .noAccount)
        let stranger = server.container(token: "cumulus_" + String(repeating: "0", count: 64))
        #expect(await stranger.accountStatus() == .noAccount)
        try await ada.signOut()
        #expect(await ada.accountStatus() == .noAccount)
        for container in [ada, nobody, stranger] { await container.close() }
        try await server.stop()
        let away = server.container(token: "cumulus_0", timeout: .milliseconds(200))
        #expect(await away.accountStatus() == .couldNotDetermine)
        await away.close()
    }
}
