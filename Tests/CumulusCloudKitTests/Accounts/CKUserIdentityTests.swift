// Users as others find them, in archives; and the tokens that nodes don't issue.

import Cumulus
import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct CKUserIdentityTests {
    @Test func identitiesAreArchived() throws {
        for (name, given, family) in [
            ("Ada King Lovelace", "Ada King", "Lovelace"), ("Ada", "Ada", nil), ("", nil, nil),
        ] as [(String, String?, String?)] {
            let id = CKRecord.ID(recordName: "_ada")
            let identity = CKUserIdentity(UserProfile(displayName: name), id)
            let data = try NSKeyedArchiver.archivedData(
                withRootObject: identity,
                requiringSecureCoding: true
            )
            let again = try #require(
                try NSKeyedUnarchiver.unarchivedObject(ofClass: CKUserIdentity.self, from: data)
            )
            #expect(again.userRecordID == id && again.lookupInfo == identity.lookupInfo)
            #expect(again.nameComponents?.givenName == given)
            #expect(again.nameComponents?.familyName == family)
        }
    }

    /// The operation says so without asking a node.
    @Test func nodesIssueNoTokensForWebServices() async {
        let container = CKContainer(identifier: "iCloud.x", connection: CumulusConnection())
        let error: (any Error)? = await withCheckedContinuation { done in
            let operation = CKFetchWebAuthTokenOperation(apiToken: "t")
            operation.fetchWebAuthTokenCompletionBlock = { _, error in
                done.resume(returning: error)
            }
            container.privateCloudDatabase.add(operation)
        }
        #expect((error as? CKError)?.code == .serverRejectedRequest)
        await container.close()
    }
}
