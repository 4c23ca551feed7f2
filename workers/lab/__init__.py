"""What makes pages of the documentation: measurements, pictures of dashboards, the notebook page, and the hook for the site.

Neither the wheel nor the image contains this package.
"""
