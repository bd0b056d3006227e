// The facade's calls about users: who is signed in, and who others are.

import CloudKit

extension CloudKitManager {
    func checkCloudKitAvailability(
        completion: @escaping (_ status: CKAccountStatus, _ error: Error?) -> Void
    ) {
        container.accountStatus { status, error in
            DispatchQueue.main.async { completion(status, error) }
        }
    }

    func fetchLoggedInUserID(
        completion: @escaping (_ recordID: CKRecord.ID?, _ error: Error?) -> Void
    ) {
        container.fetchUserRecordID { recordID, error in
            DispatchQueue.main.async { completion(recordID, error) }
        }
    }

    func fetchLoggedInUserRecord(
        completion: @escaping (_ record: CKRecord?, _ error: Error?) -> Void
    ) {
        fetchLoggedInUserID { recordID, error in
            guard let recordID = recordID else { return completion(nil, error) }
            self.fetchRecord(withID: recordID, completion: completion)
        }
    }

    /// Lets others find the user.
    func requestDiscoverabilityPermission(
        completion: @escaping (_ isGranted: Bool, _ error: Error?) -> Void
    ) {
        container.status(forApplicationPermission: .userDiscoverability) { status, error in
            guard status == .initialState else {
                return DispatchQueue.main.async { completion(status == .granted, error) }
            }
            self.container.requestApplicationPermission(.userDiscoverability) { status, error in
                DispatchQueue.main.async { completion(status == .granted, error) }
            }
        }
    }

    /// Finds users by their e-mail addresses, as far as they want to be found.
    func discoverUsers(
        withEmailAddresses addresses: [String],
        completion: @escaping (_ users: [CKUserIdentity], _ error: Error?) -> Void
    ) {
        var users: [CKUserIdentity] = []
        let operation = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: addresses.map {
                CKUserIdentity.LookupInfo(emailAddress: $0)
            }
        )
        operation.userIdentityDiscoveredBlock = { user, _ in users.append(user) }
        operation.discoverUserIdentitiesCompletionBlock = { error in
            DispatchQueue.main.async { completion(users, error) }
        }
        container.add(operation)
    }

    /// Finds a user by its record; nil if the user doesn't want to be found.
    func discoverUser(
        withRecordID recordID: CKRecord.ID,
        completion: @escaping (_ user: CKUserIdentity?) -> Void
    ) {
        container.discoverUserIdentity(withUserRecordID: recordID) { user, _ in
            DispatchQueue.main.async { completion(user) }
        }
    }
}
