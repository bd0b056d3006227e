// Subscriptions and other users over web services.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebSubscriptionCallsTests {
    private func modify(_ user: WebUser, _ operations: String...) async throws -> [JSON] {
        let list = operations.joined(separator: ",")
        let body = #"{"operations": [\#(list)]}"#
        return try await user.post("private/subscriptions/modify", body).entries("subscriptions")
    }

    private func operation(_ kind: String, _ subscription: String) -> String {
        #"{"operationType": "\#(kind)", "subscription": {\#(subscription)}}"#
    }

    @Test func subscriptionsAreMadeFoundAndDeleted() async throws {
        try await withWebUser { user, server in
            let query = """
                "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["update"],
                "query": {"recordType": "Note", "filterBy": [{"fieldName": "stars",
                 "comparator": "GREATER_THAN", "fieldValue": {"value": 2}}]}
                """
            let made = try await modify(
                user,
                operation("create", query),
                operation("create", query),
                operation("create", #""subscriptionType": "database""#),
                operation("create", #""subscriptionID": "bad", "subscriptionType": "query""#)
            )
            #expect(made.map(\.errorCode) == [nil, nil, nil, "BAD_REQUEST"])
            #expect(made[2]["subscriptionID"]?.string?.count == 36)
            let list = try await user.get("private/subscriptions/list")
            #expect(list.entries("subscriptions").count == 2, "\(list.json.text)")
            let found = try await user.post(
                "private/subscriptions/lookup",
                #"{"subscriptions": [{"subscriptionID": "no"}, {"subscriptionID": "notes"}]}"#
            )
            let entries = found.entries("subscriptions")
            #expect(entries.map(\.errorCode) == ["NOT_FOUND", nil])
            #expect(entries[0]["subscriptionID"] == "no")
            #expect(entries[1] == made[0])
            let gone = try await modify(user, operation("delete", #""subscriptionID": "notes""#))
            #expect(gone.first?["deleted"] == .bool(true))
        }
    }

    @Test func usersWhoWantToAreFound() async throws {
        try await withWebUser { user, server in
            let token = try await server.makeUser("anna")
            let admin = server.nodeOperator()
            _ = try await admin.setHandle(
                .emailAddress("anna@example.org"),
                of: "anna",
                isHeld: true
            )
            await admin.close()
            let anna = server.container(token: token)
            try await anna.setUserProfile(.init(displayName: "Anna", isDiscoverable: true))
            let name = try await anna.userRecordID().recordName
            await anna.close()
            let hidden = server.container(token: try await server.makeUser("hidden"))
            let hiddenName = try await hidden.userRecordID().recordName
            await hidden.close()
            let own = try await user.get("public/users/caller")
            let record = own.json["userRecordName"]?.string ?? ""
            let found = try await user.post(
                "public/users/discover",
                """
                {"lookupInfos": [{"emailAddress": "no@example.org"},
                 {"emailAddress": "anna@example.org"}, {"userRecordName": "\(record)"}]}
                """
            )
            let entries = found.entries("users")
            #expect(found.status == 200, "\(found.json.text)")
            #expect(entries.map(\.errorCode) == ["NOT_FOUND", nil, nil])
            #expect(entries[1]["userRecordName"]?.string == name)
            #expect(entries[1]["lookupInfo"]?["emailAddress"] == "anna@example.org")
            #expect(entries[2]["userRecordName"]?.string == record)
            #expect(try await user.get("public/users/discover").entries("users").isEmpty)
            let older = try await user.post(
                "public/users/lookup/email",
                #"{"users": [{"emailAddress": "anna@example.org"}]}"#
            )
            #expect(older.entries("users").first?["emailAddress"] == "anna@example.org")
            // By record names, beside an address that the node answers before them.
            let named = try await user.post(
                "public/users/discover",
                """
                {"lookupInfos": [{"userRecordName": "\(name)"}, {"userRecordName": "\(record)"},
                 {"userRecordName": "\(hiddenName)"}, {"emailAddress": "anna@example.org"},
                 {"userRecordName": "nobody"}]}
                """
            ).entries("users")
            #expect(named.map(\.errorCode) == [nil, nil, "NOT_FOUND", nil, "NOT_FOUND"])
            #expect(named[0]["userRecordName"]?.string == name)
            #expect(named[0]["lookupInfo"]?["userRecordName"]?.string == name)
            #expect(named[0]["nameComponents"]?["givenName"] == "Anna")
            #expect(named[3]["lookupInfo"]?["emailAddress"] == "anna@example.org")
            let byID = try await user.post(
                "public/users/lookup/id",
                #"{"users": [{"userRecordName": "\#(name)"}]}"#
            )
            #expect(byID.entries("users").first?["userRecordName"]?.string == name)
        }
    }
}
