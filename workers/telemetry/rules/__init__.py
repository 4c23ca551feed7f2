"""JMX exporter's rule files: which series an MBean's attributes become, with the names, labels and types that the exporter gives them."""
