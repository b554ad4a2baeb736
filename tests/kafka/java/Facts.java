// What Kafka's AdminClient tells of a cluster that somebody else filled: the questions of `tests/kafka/clusters/Cluster.java`,
// with which it is compiled. Facts ADDRESS RELEASE FILE writes the answers as JSON.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.*;
import org.apache.kafka.clients.admin.*;

public class Facts {
    public static void main(String[] args) throws Exception {
        Cluster.address = args[0];
        Cluster.kraft = true;
        Cluster.modern = args[1].startsWith("4.");
        Cluster.admin = Admin.create(Map.of("bootstrap.servers", args[0]));
        Map<String, Object> truth = new TreeMap<>();
        truth.put("clusterId", Cluster.admin.describeCluster().clusterId().get());
        truth.put("groups", Cluster.describedGroups());
        truth.put("offsets", Cluster.committed());
        if (Cluster.admin.listTopics().names().get().containsAll(Cluster.TOPICS.subList(0, 2))) {
            truth.put("ends", Cluster.ends());
            truth.put("producers", Cluster.producers());
            truth.put("configs", Cluster.describedConfigs());
        }
        truth.put("topics", Cluster.describedTopics());
        truth.put("transactions", Cluster.describedTransactions());
        truth.put("quotas", Cluster.quotas());
        truth.put("users", Cluster.users());
        truth.put("features", Cluster.features());
        truth.put("nodes", Cluster.nodes());
        try {
            truth.put("acls", Cluster.acls());
        } catch (Exception error) {
            truth.put("acls", error.getMessage());  // where no authorizer is configured
        }
        new ObjectMapper().writeValue(new File(args[2]), truth);
        Runtime.getRuntime().halt(0);
    }
}
